package natural

import (
	"errors"
	"fmt"
)

// One is 1.0 in Q16.
const One = 1 << 16

// MaxCandidates is the most candidates that an [Engine] takes: the sum of so many
// products of 48 bits still fits in 64 bits.
const MaxCandidates = 1 << 22

// ErrShape says that vectors and matrices of one step do not fit together.
var ErrShape = errors.New("sizes do not fit")

// Engine runs the integer functions of a step. The slices of one call have the
// same length, the number of candidates; results are new slices.
type Engine interface {
	// Softmax divides exponentials in Q16 by their sum: floor((e << 16) / sum),
	// where a sum of zero counts as one.
	Softmax(exponentials []uint32) ([]uint32, error)
	// Precondition multiplies a root by a policy.
	Precondition(root Root, policy []uint32) ([]uint32, error)
}

// Root is the inverse square root of a Fisher matrix: a *[Dense] or a *[LowRank].
type Root interface {
	// Len is the number of candidates.
	Len() int
	// Check reports why the root cannot be used.
	Check() error
	// multiply computes root times g into out.
	multiply(out, g []uint32)
}

// Host is the [Engine] in plain Go, on one core.
type Host struct{}

// Softmax implements [Engine].
func (Host) Softmax(exponentials []uint32) ([]uint32, error) {
	if err := checkLen(len(exponentials)); err != nil {
		return nil, err
	}
	sum := uint64(0)
	for _, e := range exponentials {
		sum += uint64(e)
	}
	sum = max(sum, 1)
	out := make([]uint32, len(exponentials))
	for i, e := range exponentials {
		out[i] = uint32(uint64(e) << 16 / sum)
	}
	return out, nil
}

// Precondition implements [Engine].
func (Host) Precondition(root Root, policy []uint32) ([]uint32, error) {
	if err := CheckStep(root, policy); err != nil {
		return nil, err
	}
	out := make([]uint32, len(policy))
	root.multiply(out, policy)
	return out, nil
}

// CheckStep reports why a root and a policy cannot be multiplied. Entries of a
// policy are at most 1.0.
func CheckStep(root Root, policy []uint32) error {
	if err := checkLen(len(policy)); err != nil {
		return err
	}
	if root.Len() != len(policy) {
		return fmt.Errorf("a root of %d candidates for a policy of %d: %w", root.Len(), len(policy), ErrShape)
	}
	for i, p := range policy {
		if p > One {
			return fmt.Errorf("candidate %d of the policy is %d, above 1.0 in Q16 (%d): %w", i, p, One, ErrShape)
		}
	}
	return root.Check()
}

func checkLen(n int) error {
	if n < 1 || n > MaxCandidates {
		return fmt.Errorf("%d candidates, want 1 to %d: %w", n, MaxCandidates, ErrShape)
	}
	return nil
}
