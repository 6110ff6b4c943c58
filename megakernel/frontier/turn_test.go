//go:build cgo

package frontier

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
)

func TestOthersMayUseTheDeviceBetweenTheTurnsOfAJob(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "grid:60x60")
	var other gpu.Buffer
	err := k.dev.Do(func() (err error) {
		other, err = k.dev.NewBuffer(4096)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	result, err := r.Run(context.Background(), Job{Sources: []uint32{7}, Timed: true, Turn: func(use func() error) error {
		turns++
		if err := use(); err != nil {
			return err
		}
		return k.dev.Do(func() error {
			for binding := range uint32(bindings) {
				k.dev.BindStorage(binding, other, 0, 4096)
			}
			return k.dev.Check()
		})
	}})
	if err != nil {
		t.Fatal(err)
	}
	if want := graph.BFS(generated(t, "grid:60x60").Out, 7); !slices.Equal(result.Values, want) {
		t.Error("the levels are not those of a plain search")
	}
	if turns != int(result.Visits)+2 {
		t.Errorf("%d turns for %d visits, a begin and an end", turns, result.Visits)
	}
	if err := k.dev.Do(func() error { k.dev.DeleteBuffer(other); return k.dev.Check() }); err != nil {
		t.Error(err)
	}
}

func TestEachProgramIsBuiltInATurnOfItsOwn(t *testing.T) {
	dev := newKernels(t).dev
	live := func() int { _, programs := dev.Live(); return programs }
	turns, built := 0, 0
	turn := func(use func() error) error {
		turns++
		before := live()
		err := use()
		if fresh := live() - before; fresh > 1 {
			t.Errorf("turn %d built %d programs", turns, fresh)
		} else {
			built += fresh
		}
		// Another user of the device between two turns leaves nothing bound.
		return errors.Join(err, dev.Do(func() error {
			for binding := range uint32(bindings) {
				dev.BindStorage(binding, gpu.Buffer{}, 0, 0)
			}
			return nil
		}))
	}
	k := openKernels(t, dev, nil)
	t.Cleanup(k.Close)
	r := load(t, k, "grid:20x20")
	want := graph.BFS(generated(t, "grid:20x20").Out, 7)
	run := func() (taken, visits int) {
		turns = 0
		got, err := r.Run(context.Background(), Job{Sources: []uint32{7}, Turn: turn})
		if err != nil || !slices.Equal(got.Values, want) {
			t.Fatalf("wrong levels, %v", err)
		}
		return turns, int(got.Visits)
	}
	if taken, visits := run(); built != kinds || taken != visits+kinds+2 {
		t.Errorf("%d turns for %d visits and %d programs, want %d programs", taken, visits, built, kinds)
	}
	if taken, visits := run(); taken != visits+2 {
		t.Errorf("%d turns for %d visits of a job whose programs are there", taken, visits)
	}
}

func TestATurnThatIsRefusedEndsTheJob(t *testing.T) {
	r := load(t, newKernels(t), "path:50")
	gone := errors.New("the device is gone")
	_, err := r.Run(context.Background(), Job{Sources: []uint32{0}, Turn: func(func() error) error { return gone }})
	if !errors.Is(err, gone) {
		t.Errorf("got %v, want %v", err, gone)
	}
}

// Weights and directions make six buffers; the targets are larger than a slice.
func TestAnUploadTakesATurnForEachBufferAndSlice(t *testing.T) {
	k := newKernels(t)
	edges, err := graph.Generate("uniform:17:18")
	if err != nil {
		t.Fatal(err)
	}
	edges.Weigh(9, 1)
	pair, err := graph.Build(edges, graph.Options{Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	slicesOf := func(words int) int { return (4*words-1)/sliceBytes + 1 }
	if slicesOf(len(pair.Out.Targets)) < 2 {
		t.Fatalf("%d edges fit one slice", len(pair.Out.Targets))
	}
	want := 6 + 2*slicesOf(len(pair.Out.Offsets)) + 4*slicesOf(len(pair.Out.Targets))
	turns := 0
	count := func(use func() error) error { turns++; return use() }
	r, err := Load(k.dev, pair, Options{Programs: k.Store, Turn: count})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if turns != want {
		t.Errorf("%d turns, want %d", turns, want)
	}
	result, err := r.Run(context.Background(), Job{Semiring: ShortestPath, Sources: []uint32{3}})
	if err != nil || !slices.Equal(result.Values, graph.SSSP(pair.Out, 3)) {
		t.Errorf("what was uploaded in slices is another graph, error %v", err)
	}
}

func TestAnUploadThatIsRefusedATurnLeavesNothing(t *testing.T) {
	k := newKernels(t)
	before, _ := k.dev.Live()
	gone := errors.New("somebody else has the device")
	for allowed := range 4 { // two buffers, each made and then written
		turns := 0
		pair := graph.Pair{Out: generated(t, "grid:20x20").Out}
		pair.In = pair.Out
		_, err := Load(k.dev, pair, Options{Programs: k.Store, Turn: func(use func() error) error {
			if turns++; turns > allowed {
				return gone
			}
			return use()
		}})
		if after, _ := k.dev.Live(); !errors.Is(err, gone) || after != before {
			t.Errorf("after %d turns: error %v, %d buffers more", allowed, err, after-before)
		}
	}
}
