package natural

import (
	"fmt"
	"math"
)

// MaxDense is the most candidates of a dense root: 64 MiB of cells.
const MaxDense = 4096

// Dense is a symmetric matrix, row by row. Its cells are signed, unlike those of
// vyre's preconditioner: where the shares of the samples differ from the policy,
// cells of the Fisher matrix's root are negative.
type Dense struct {
	N     int
	Cells []int32 // N*N, Q16
}

// Len implements [Root].
func (d *Dense) Len() int { return d.N }

// Check implements [Root].
func (d *Dense) Check() error {
	if d.N < 1 || d.N > MaxDense || len(d.Cells) != d.N*d.N {
		return fmt.Errorf("%d cells for a dense root of %d candidates, want 1 to %d candidates: %w", len(d.Cells), d.N, MaxDense, ErrShape)
	}
	return nil
}

// multiply computes clamp(Σ_c m_rc·g_c >> 16, 0, 2³²-1) with arithmetic shifts
// and a 64-bit sum.
func (d *Dense) multiply(out, g []uint32) {
	for r := range out {
		sum := int64(0)
		row := d.Cells[r*d.N : r*d.N+len(g)]
		for c, x := range g {
			sum += int64(row[c]) * int64(x) >> 16
		}
		out[r] = clampU32(sum)
	}
}

// Term is one vector of a low-rank root: sign · v·vᵀ.
type Term struct {
	Negative bool
	Vector   []int32 // Q16
}

// LowRank is a diagonal and a sum of terms.
type LowRank struct {
	Diagonal []int32 // Q16
	Terms    []Term
}

// MaxTerms bounds the terms of a low-rank root.
const MaxTerms = 64

// Terms is how many a root of usual accuracy has.
const Terms = 48

// Len implements [Root].
func (l *LowRank) Len() int { return len(l.Diagonal) }

// Check implements [Root].
func (l *LowRank) Check() error {
	if len(l.Terms) > MaxTerms {
		return fmt.Errorf("%d terms of a root, want at most %d: %w", len(l.Terms), MaxTerms, ErrShape)
	}
	for k := range l.Terms {
		if len(l.Terms[k].Vector) != len(l.Diagonal) {
			return fmt.Errorf("term %d has %d values for %d candidates: %w", k, len(l.Terms[k].Vector), len(l.Diagonal), ErrShape)
		}
	}
	return nil
}

// multiply computes, with arithmetic shifts and 64-bit sums,
//
//	t_k   = clamp32(Σ_c v_kc·g_c >> 16)
//	out_r = clamp(d_r·g_r >> 16 + Σ_k ± (v_kr·t_k >> 16), 0, 2³²-1)
func (l *LowRank) multiply(out, g []uint32) {
	sums := make([]int64, len(g))
	for r, x := range g {
		sums[r] = int64(l.Diagonal[r]) * int64(x) >> 16
	}
	for k := range l.Terms {
		v := l.Terms[k].Vector
		dot := int64(0)
		for c, x := range g {
			dot += int64(v[c]) * int64(x) >> 16
		}
		t := min(max(dot, math.MinInt32), math.MaxInt32)
		if l.Terms[k].Negative {
			for r := range sums {
				sums[r] -= int64(v[r]) * t >> 16
			}
			continue
		}
		for r := range sums {
			sums[r] += int64(v[r]) * t >> 16
		}
	}
	for r, s := range sums {
		out[r] = clampU32(s)
	}
}

func clampU32(x int64) uint32 { return uint32(min(max(x, 0), math.MaxUint32)) }
