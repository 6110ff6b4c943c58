package session

import (
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
)

// memory remembers in a map.
type memory struct {
	entries map[cache.Key]cache.Entry
	stores  int
}

func newMemory() *memory { return &memory{entries: map[cache.Key]cache.Entry{}} }

func (m *memory) Recall(_ string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	e, ok := m.entries[key]
	return e, 1, ok && after < 1
}

func (m *memory) Remember(_ string, e cache.Entry) {
	m.stores++
	m.entries[e.Key] = e
}

func TestRestartStartsWarm(t *testing.T) {
	memory := newMemory()
	r := newRig(t, On)
	r.env.Memory = memory
	r.settled()
	r.launches(10)
	again := newRig(t, On)
	again.env.Memory = memory
	again.launch()
	if !again.s.tuners[0].state().settled || again.s.View() != r.s.View() {
		t.Errorf("had %v, begins with %v", r.s.View(), again.s.View())
	}
}

// told is a memory of what somebody else says about every key.
type told struct{ cache.Entry }

func (m told) Recall(_ string, key cache.Key, after uint64) (cache.Entry, uint64, bool) {
	m.Key = key
	return m.Entry, FirstMoment + 1, after <= FirstMoment
}

func (told) Remember(string, cache.Entry) {}

// Whoever can write to the shared bucket can say anything. A selection that really is
// as slow as it claims would never be noticed as a change of cost, so other geometries
// have to be looked at too.
func TestWhatOthersSelectedIsNotChosenUnseen(t *testing.T) {
	slow := policy.Geometry{Width: 32, Groups: 1, Chunk: 32, Depth: 65_536}
	honest := cost(policy.Geometry{Width: 32, Groups: 1, Chunk: 32}, 50_000) / 50_000
	says := func(ns float64, others ...policy.Geometry) told {
		e := cache.Entry{Selected: slow}
		for _, g := range append(others, slow) {
			e.Measurements = append(e.Measurements, cache.Measurement{Geometry: g, Count: 1000, Mean: ns})
		}
		return told{e}
	}
	for name, memory := range map[string]told{
		"the truth":           says(honest),
		"absurdly fast":       says(1e-9, policy.Geometry{Width: 32, Groups: 2, Chunk: 32, Depth: 65_536}, policy.Geometry{Width: 64, Groups: 1, Chunk: 64, Depth: 65_536}),
		"as fast as the best": says(honest/27, policy.Geometry{Width: 32, Groups: 2, Chunk: 32, Depth: 65_536}),
	} {
		r := newRig(t, On)
		r.env.Memory = memory
		r.settled()
		r.launches(5)
		if ratio := cost(r.by.Given, float64(r.queue)) / r.best(); ratio > 1.5 {
			t.Errorf("%s: %+v, %.1f times the best", name, r.by.Given, ratio)
		}
	}
}

func TestAFileReadLateIsUsed(t *testing.T) {
	memory := newMemory()
	r := newRig(t, On)
	r.env.Memory = memory
	r.settled()
	late := newRig(t, On)
	late.env.Memory = newMemory()
	late.launches(3)
	late.env.Memory = memory
	late.launches(recallEvery)
	if late.looks != 0 || late.kept(late.queue) != r.kept(r.queue) {
		t.Errorf("%d looks, asks for %v where %v was found", late.looks, late.kept(late.queue), r.kept(r.queue))
	}
}

// A queue with less work between two pauses than looks need goes on with what it knows.
func TestLooksEndHoweverOftenTheQueueIsParked(t *testing.T) {
	r := newRig(t, On)
	r.env.Memory = newMemory()
	settled := false
	for n := 0; !settled; n++ {
		if n == 200 {
			t.Fatalf("still not settled after %d looks", r.looks)
		}
		r.launches(200)
		settled = r.s.tuners[0].state().settled
		r.s.Park(&r.env)
	}
	r.launch()
	if ratio := cost(r.by.Given, float64(r.queue)) / r.best(); ratio > 1.25 {
		t.Errorf("%.3f times the best", ratio)
	}
}
