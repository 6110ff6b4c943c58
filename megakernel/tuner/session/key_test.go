package session

import (
	"math"
	"ringmaster/megakernel/tuner/cache"
	"testing"
)

func TestKeysTellEverythingApart(t *testing.T) {
	seen := map[cache.Key]string{}
	add := func(what string, k cache.Key) {
		if other, ok := seen[k]; ok {
			t.Errorf("%s and %s have one key", what, other)
		}
		seen[k] = what
	}
	p := Program{ID: [32]byte{1}, Source: 1, Mode: On}
	add("plain", Key(p, 1, limits, "a device"))
	add("bucket", Key(p, 2, limits, "a device"))
	add("device", Key(p, 1, limits, "another device"))
	add("program", Key(Program{[32]byte{2}, 1, On}, 1, limits, "a device"))
	add("clock", Key(Program{[32]byte{1}, 2, On}, 1, limits, "a device"))
	add("mode", Key(Program{[32]byte{1}, 1, Reference}, 1, limits, "a device"))
	l := limits
	l.SubgroupSize++
	add("limits", Key(p, 1, l, "a device"))
}

func TestBucketsCoverAllSizes(t *testing.T) {
	for slots, want := range map[uint32]int{0: 0, 1: 0, 256: 0, 257: 1, 1024: 1, 1025: 2, 65_536: 4, 1 << 20: 6, 1<<20 + 1: 6, math.MaxUint32: 6} {
		if got := BucketOf(slots); got != want {
			t.Errorf("%d slots are of bucket %d, want %d", slots, got, want)
		}
	}
	if BucketSlots(Buckets-1) != 1<<20 {
		t.Errorf("the last bucket ends at %d", BucketSlots(Buckets-1))
	}
}
