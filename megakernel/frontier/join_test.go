//go:build cgo

package frontier

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/userop"
)

// userJoins are joins of a user, each with its meaning in Go.
var userJoins = []struct {
	name, body string
	kind       userop.JoinKind
	seed       uint32
	extend     func(value, weight uint32) (arriving uint32, travels bool)
}{
	{"widest", "result(min(value, weight));", userop.JoinMax, 1<<32 - 1,
		func(v, w uint32) (uint32, bool) { return min(v, w), true }},
	{"bottleneck", "uint values = max(value, weight);\nresult(values);", userop.JoinMin, 0,
		func(v, w uint32) (uint32, bool) { return max(v, w), true }},
	{"light", "// Heavy edges carry nothing.\nif (weight < 10u) {\n    result(value);\n}", userop.JoinOr, 0x81,
		func(v, w uint32) (uint32, bool) { return v, w < 10 }},
	{"rotating", "result((value << 1u) | (value >> 31u));", userop.JoinOr, 1,
		func(v, _ uint32) (uint32, bool) { return v<<1 | v>>31, true }},
	{"masks", "uint bits = 1u << (weight & 31u);\nresult(value & ~bits);", userop.JoinAnd, 1<<32 - 2,
		func(v, w uint32) (uint32, bool) { return v &^ (1 << (w & 31)), true }},
}

func parseJoin(t testing.TB, name, kind, seed, body string) *userop.Join {
	t.Helper()
	j, err := userop.ParseJoin(name+".glsl", []byte("//! kind: join\n//! name: "+name+"\n//! join: "+kind+"\n//! seed: "+seed+"\n"+body+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	return &j
}

// joined is what a job with a join means: values travel until none changes.
func joined(g *graph.Graph, kind userop.JoinKind, seed uint32, sources []uint32, extend func(v, w uint32) (uint32, bool)) []uint32 {
	values := slices.Repeat([]uint32{kind.Identity()}, g.Nodes())
	var work []uint32
	arrive := func(v, value uint32) {
		if next := kind.Apply(values[v], value); next != values[v] {
			values[v] = next
			work = append(work, v)
		}
	}
	for _, s := range sources {
		arrive(s, seed)
	}
	for len(work) > 0 {
		u := work[0]
		work = work[1:]
		for e := g.Offsets[u]; e < g.Offsets[u+1]; e++ {
			if value, travels := extend(values[u], g.Weight(e)); travels {
				arrive(g.Targets[e], value)
			}
		}
	}
	return values
}

func TestUserJoinsHaveTheirMeaningInEveryTopology(t *testing.T) {
	k := newKernels(t)
	rng := rand.New(rand.NewPCG(7, 7))
	pairs := shapes(t)
	for i := range 6 {
		pairs["random "+string(rune('a'+i))] = randomGraph(rng, t)
	}
	maps.DeleteFunc(pairs, func(_ string, p graph.Pair) bool { return p.Out.Weights == nil })
	if len(pairs) < 4 {
		t.Fatalf("%d graphs have weights", len(pairs))
	}
	for _, u := range userJoins {
		seed := map[uint32]string{1<<32 - 1: "0xFFFFFFFF", 1<<32 - 2: "0xFFFFFFFE", 0: "0", 1: "1", 0x81: "0x81"}[u.seed]
		join := parseJoin(t, u.name, u.kind.String(), seed, u.body)
		for name, pair := range pairs {
			r := loadPair(t, k, pair)
			sources := []uint32{0, uint32(pair.Out.Nodes()) / 2}
			want := joined(pair.Out, u.kind, u.seed, sources, u.extend)
			for i, topology := range slices.Concat(topologies, topologies) {
				job := Job{Semiring: User, Join: join, Sources: sources, Topology: topology}
				if i >= len(topologies) {
					job.Geometry, job.HitCapacity = policy.Geometry{Groups: 2}, 5
				}
				got, err := r.Run(context.Background(), job)
				if err != nil {
					t.Errorf("%s, %s, %v: %v", u.name, name, topology, err)
				} else if !slices.Equal(got.Values, want) {
					t.Errorf("%s, %s, %v: got %v, want %v", u.name, name, topology, got.Values, want)
				}
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A user's join with the meaning of a built-in one gives the same levels.
func TestAUserJoinEqualsTheBuiltInOneOfItsMeaning(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "kronecker:10")
	join := parseJoin(t, "hops", "min", "0", "result(value + 1u);")
	for _, geometry := range []policy.Geometry{{}, {Width: 32, Groups: 3}} {
		want, err := r.Run(context.Background(), Job{Sources: []uint32{5}, Geometry: geometry})
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(context.Background(), Job{Semiring: User, Join: join, Sources: []uint32{5}, Geometry: geometry})
		if err != nil || !slices.Equal(got.Values, want.Values) || got.Reached != want.Reached || len(got.Levels) != len(want.Levels) {
			t.Errorf("%+v: %d reached in %d levels, want %d in %d (%v)", geometry, got.Reached, len(got.Levels), want.Reached, len(want.Levels), err)
		}
	}
}

func TestAJoinThatGoesOnImprovingIsEnded(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "path:3")
	join := parseJoin(t, "endless", "max", "1", "result(value + 1u);")
	if _, err := r.Run(context.Background(), Job{Semiring: User, Join: join, Sources: []uint32{0}}); !errors.Is(err, ErrLevels) {
		t.Errorf("got %v, want ErrLevels", err)
	}
}

func TestAJoinBelongsToItsSemiring(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "path:3")
	join := parseJoin(t, "hops", "min", "0", "result(value + 1u);")
	for name, job := range map[string]Job{
		"a join of another semiring": {Semiring: BFS, Join: join},
		"user without a join":        {Semiring: User},
		"a join without a body":      {Semiring: User, Join: &userop.Join{Name: "empty"}},
	} {
		job.Sources = []uint32{0}
		if _, err := r.Run(context.Background(), job); !errors.Is(err, ErrJob) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A body that the driver refuses is reported with the join's name, and other jobs still run.
func TestABodyThatTheDriverRefusesIsAnErrorOfItsJob(t *testing.T) {
	k := newKernels(t)
	r := load(t, k, "path:3")
	join := parseJoin(t, "halves", "min", "0", "result(value + 1.5);")
	if _, err := r.Run(context.Background(), Job{Semiring: User, Join: join, Sources: []uint32{0}}); !errors.Is(err, ErrJoin) || !strings.Contains(err.Error(), "halves") {
		t.Errorf("got %v", err)
	}
	if _, err := r.Run(context.Background(), Job{Sources: []uint32{0}, Topology: policy.TopologySparse}); err != nil {
		t.Errorf("a job behind it: %v", err)
	}
}
