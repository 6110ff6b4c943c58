//go:build cgo

package fixedpoint

import (
	"errors"
	"math/rand/v2"
	"testing"

	"ringmaster/bench/natural"
	"ringmaster/glcompute/gltest"
)

func open(t testing.TB) *Engine {
	t.Helper()
	dev := gltest.OpenUnclosed(t)
	e, err := New(dev)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(e.Close(), dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return e
}

// sizes lie on both sides of the bounds of lanes, workgroups and shares.
var sizes = []int{1, 2, 3, 127, 128, 129, 1000, 4096, 70_001}

func TestSoftmaxOnTheDeviceEqualsTheHostsBitForBit(t *testing.T) {
	e := open(t)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range sizes {
		for name, value := range map[string]func() uint32{
			"zeros":      func() uint32 { return 0 },
			"exponents":  func() uint32 { return rng.Uint32N(natural.One + 1) },
			"full words": func() uint32 { return rng.Uint32() },
			"largest":    func() uint32 { return 1<<32 - 1 },
			"one alone":  func() uint32 { return rng.Uint32() / (1 + rng.Uint32N(1<<31)) },
		} {
			in := make([]uint32, n)
			for i := range in {
				in[i] = value()
			}
			got, err := e.Softmax(in)
			if err != nil {
				t.Fatal(err)
			}
			want, err := natural.Host{}.Softmax(in)
			if err != nil {
				t.Fatal(err)
			}
			same(t, name, got, want)
		}
	}
}

func TestPreconditionOnTheDeviceEqualsTheHostsBitForBit(t *testing.T) {
	e := open(t)
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range sizes {
		for name, value := range map[string]func() int32{
			"small signed": func() int32 { return rng.Int32N(1<<20) - 1<<19 },
			"full words":   func() int32 { return int32(rng.Uint32()) },
			"extremes":     func() int32 { return []int32{-1 << 31, 1<<31 - 1, 0, -1}[rng.IntN(4)] },
			"all large":    func() int32 { return 1<<31 - 1 }, // saturates
			"all negative": func() int32 { return -1 << 31 },
		} {
			policy := make([]uint32, n)
			for i := range policy {
				policy[i] = rng.Uint32N(natural.One + 1)
			}
			fill := func(n int) []int32 {
				out := make([]int32, n)
				for i := range out {
					out[i] = value()
				}
				return out
			}
			low := &natural.LowRank{Diagonal: fill(n)}
			for k := range []int{0, 3, natural.MaxTerms}[rng.IntN(3)] {
				low.Terms = append(low.Terms, natural.Term{Negative: k%3 == 0, Vector: fill(n)})
			}
			roots := []natural.Root{low}
			if n <= 1000 {
				roots = append(roots, &natural.Dense{N: n, Cells: fill(n * n)})
			}
			for _, root := range roots {
				got, err := e.Precondition(root, policy)
				if err != nil {
					t.Fatal(err)
				}
				want, err := natural.Host{}.Precondition(root, policy)
				if err != nil {
					t.Fatal(err)
				}
				same(t, name, got, want)
			}
		}
	}
}

func same(t *testing.T, name string, got, want []uint32) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s, %d candidates: candidate %d is %#x, the host has %#x", name, len(want), i, got[i], want[i])
		}
	}
}

func TestStepBeyondTheStorageBlockIsRefusedAndTheNextOneRuns(t *testing.T) {
	e := open(t)
	n := int(min(e.dev.StorageBlockLimit()/4, natural.MaxCandidates))
	root := &natural.LowRank{Diagonal: make([]int32, n)}
	for range natural.MaxTerms {
		root.Terms = append(root.Terms, natural.Term{Vector: root.Diagonal})
	}
	if int64(4*n*(1+natural.MaxTerms)) <= e.dev.StorageBlockLimit() {
		t.Log("the device takes the largest root there is")
	} else if _, err := e.Precondition(root, make([]uint32, n)); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("error is %v, want ErrTooLarge", err)
	}
	if _, err := e.Softmax([]uint32{1, 2}); err != nil {
		t.Fatal(err)
	}
}
