// Package natural is a softmax policy over many candidates and its natural
// gradient, in Q16 fixed point, beside which the compute kernels of package
// bench/fixedpoint are measured.
//
// Costs become exponentials ([Exponentials]), exponentials a policy that sums
// to at most one ([Host.Softmax]), and the inverse square root of its Fisher
// information ([NewFisher]) turns the policy into its preconditioned gradient.
// Up to [MaxDense] candidates the root is a matrix ([Dense]), beyond that a
// diagonal and a few vectors of the same operator ([LowRank]).
//
// Softmax and the two products are integer functions with 64-bit sums, so
// their results do not depend on the order of additions and are the same on
// every machine and device: [Engine] is implemented here in Go and in package
// bench/fixedpoint as compute kernels. Everything before them is floating
// point and done once, on the host. A worker chooses among a handful of widths, for
// which package megakernel/tuner does the same in floating point; only the benchmark
// of the kernels has as many candidates as are needed for a device to pay.
package natural
