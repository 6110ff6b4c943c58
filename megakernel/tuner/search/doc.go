// Package search looks for the cheapest configuration of a space with few
// measurements.
//
// A [Search] is asked for a configuration and told what it cost, again and again.
// It holds no clock and no hidden randomness: the same options and the same
// answers give the same questions. The cost of a configuration that fails is
// [Failed]; it counts as a measurement like any other.
//
// After a few starts far from each other it chooses by the expected improvement under
// a Gaussian process over scores of the costs, in which what failed is as bad as the
// worst that ran. Later the neighbours of the best have turns of their own, and where
// nothing improves any more, so have random configurations. The process judges every
// configuration of the space, and remembers four bytes of each for every measurement,
// up to 256 of them.
//
// A Search is for one goroutine.
package search
