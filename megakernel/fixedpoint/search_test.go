//go:build cgo

package fixedpoint

import (
	"math"
	"testing"

	"ringmaster/megakernel/tuner/search"
	"ringmaster/megakernel/tuner/space"
)

func TestJointSearchOnTheDeviceAsksForTheSameConfigurationsAsOnTheHost(t *testing.T) {
	e := open(t)
	s := bowl(t)
	on := func(o search.Options) search.Searcher {
		searcher, err := search.New("joint", s, o)
		if err != nil {
			t.Fatal(err)
		}
		return searcher
	}
	device := on(search.Options{Seed: 4, Budget: 40, Steps: e})
	host := on(search.Options{Seed: 4, Budget: 40})
	for i := range 40 {
		got, _ := device.Ask()
		want, _ := host.Ask()
		if got != want {
			t.Fatalf("measurement %d: the device asks for %d, the host for %d", i, got, want)
		}
		cost := bowlCost(s, got)
		device.Tell(got, cost)
		host.Tell(want, cost)
	}
	if e.root == nil {
		t.Error("no step went to the device")
	}
}

// bowl is a space of 3 × 8 levels whose best configuration lies in the middle.
func bowl(t *testing.T) *space.Space {
	t.Helper()
	levels := []int{0, 1, 2, 3, 4, 5, 6, 7}
	s, err := space.Product([]space.Param{space.Ints("x", levels...), space.Ints("y", levels...), space.Ints("z", levels...)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bowlCost(s *space.Space, config int) float64 {
	cost := 1.0
	for _, l := range s.Levels(config) {
		cost += math.Pow(float64(l)-4, 2)
	}
	return cost
}
