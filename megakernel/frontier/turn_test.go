//go:build cgo

package frontier

import (
	"context"
	"errors"
	"slices"
	"testing"

	"ringmaster/megakernel/graph"
)

func TestOthersMayUseTheDeviceBetweenTheTurnsOfAJob(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "grid:60x60")
	var other uint32
	err := k.dev.Do(func() (err error) {
		other, err = k.dev.NewBuffer(4096)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	turns := 0
	result, err := r.Run(context.Background(), Job{Sources: []uint32{7}, NotResident: true, Turn: func(use func() error) error {
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
	if want := graph.BFS(gridOf(t, "grid:60x60"), 7); !slices.Equal(result.Values, want) {
		t.Error("the levels are not those of a plain search")
	}
	if turns != int(result.Visits)+2 {
		t.Errorf("%d turns for %d visits, a begin and an end", turns, result.Visits)
	}
	if err := k.dev.Do(func() error { k.dev.DeleteBuffer(other); return k.dev.Check() }); err != nil {
		t.Error(err)
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

func gridOf(t *testing.T, spec string) *graph.Graph {
	t.Helper()
	edges, err := graph.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := graph.Build(edges, graph.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return pair.Out
}
