// Package natural has the integer steps of a softmax policy over many candidates
// and of its natural gradient, in Q16 fixed point, beside which the compute kernels
// of package bench/fixedpoint are measured.
//
// Exponentials of costs become a policy that sums to at most one ([Host.Softmax]),
// and the inverse square root of its Fisher information turns the policy into its
// preconditioned gradient ([Host.Precondition]). Up to [MaxDense] candidates the root
// is a matrix ([Dense]), beyond that a diagonal and a few vectors of the same
// operator ([LowRank]).
//
// Both have 64-bit sums, so their results do not depend on the order of additions and
// are the same on every machine and device: [Engine] is implemented here in Go and in
// package bench/fixedpoint as compute kernels.
package natural
