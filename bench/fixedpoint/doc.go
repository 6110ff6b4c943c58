// Package fixedpoint runs the integer steps of a softmax policy as compute
// kernels: the softmax over exponentials in Q16 and the product of a Fisher
// root, dense or diagonal plus low rank, with a policy. It implements
// [natural.Engine], bit for bit as [natural.Host] does: sums are 64-bit integers
// in two words, so the order of additions does not matter.
//
// A transfer to the device and back costs tens of microseconds. In that time the
// host runs the softmax of a few thousand candidates, or multiplies a matrix of a
// few hundred.
package fixedpoint
