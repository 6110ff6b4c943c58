//go:build cgo

package frontier

import (
	"context"
	"math"
	"testing"
	"unsafe"

	"ringmaster/megakernel/policy"
)

// Each pass counts a waiting node again. Counting to 2^32 takes half a minute, so that the test
// sets the count near its end while a level is under way.
func TestRequeuedSaturates(t *testing.T) {
	r := load(t, newKernels(t), "kronecker:12")
	job := Job{Semiring: Components, Topology: policy.TopologyMemoryConstrained}
	full, err := r.Run(context.Background(), job)
	if err != nil {
		t.Fatal(err)
	}
	job.Budget = full.Bytes - 6*uint64(full.HitCapacity) // a quarter of the hit buffers: all nodes take four passes
	job.Timed = true                                     // the host looks after each round
	p, err := r.plan(&job)
	if err != nil {
		t.Fatal(err)
	}
	x := &run{Graph: r, plan: p, m: machineOf(r.traits)}
	level := uint32(math.MaxUint32)
	x.job.Turn = func(fn func() error) error {
		if err := fn(); err != nil {
			return err
		}
		if x.now.requeued == 0 || level != math.MaxUint32 {
			return nil
		}
		level = x.now.level
		return r.dev.Do(func() error {
			return x.putWord(x.roundAt()+int(unsafe.Offsetof(roundWords{}.requeued)), math.MaxUint32-1)
		})
	}
	if err := x.build(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := x.loop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if level == math.MaxUint32 {
		t.Fatal("no round left requeued nodes behind")
	}
	for _, l := range x.result.Levels {
		t.Logf("level %d: %d nodes, %d passes, %d requeued", l.Level, l.FrontierNodes, l.Passes, l.Requeued)
		if l.Level == level && l.Requeued != math.MaxUint32 {
			t.Errorf("level %d: %d requeued", l.Level, l.Requeued)
		}
	}
}
