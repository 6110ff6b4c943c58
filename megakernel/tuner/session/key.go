package session

import (
	"encoding/binary"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
)

// Buckets is the number of launch sizes that are told apart.
const Buckets = 7

const (
	leastBucket  = 256 // slots
	bucketFactor = 4
)

// BucketSlots is the upper bound of a bucket: 256, 1 Ki, ... 1 Mi slots. Larger
// launches belong to the last bucket.
func BucketSlots(bucket int) uint32 {
	slots := uint32(leastBucket)
	for range bucket {
		slots *= bucketFactor
	}
	return slots
}

// BucketOf is the bucket of a launch of some slots.
func BucketOf(slots uint32) int {
	bucket, bound := 0, uint32(leastBucket)
	for bucket < Buckets-1 && slots > bound {
		bucket, bound = bucket+1, bound*bucketFactor
	}
	return bucket
}

// Program says what was measured: a kernel, the clock that measured it, and how
// its geometry is chosen.
type Program struct {
	ID     [32]byte // the same at every geometry
	Source uint8    // the clock; different for clocks that measure different things
	Mode   Mode
}

// Key names what is remembered of a program at a launch size on a device:
// BLAKE3-256 over a label, the program, the bucket's slots, the limits and the
// identity of device and driver, integers little-endian. Only the identity, which
// comes last, has a variable length, so that no two inputs share a preimage.
func Key(p Program, bucket int, l policy.Limits, device string) cache.Key {
	b := append(make([]byte, 0, 128+len(device)), "ringmaster-tuner-v1\x00"...)
	b = append(b, p.ID[:]...)
	b = append(b, p.Source, byte(p.Mode))
	for _, w := range [...]uint32{
		BucketSlots(bucket), l.MaxWorkgroupSizeX, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup, l.SubgroupSize,
	} {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return blake3.Sum256(append(b, device...))
}
