// Package search looks for the cheapest configuration of a space with few
// measurements.
//
// A [Search] is asked for a configuration and told what it cost, again and again.
// It holds no clock and no hidden randomness: the same options and the same
// answers give the same questions. The cost of a configuration that fails is
// [Failed]; it counts as a measurement like any other.
//
// After a few starts far from each other, three ways to choose take turns, so that
// where one of them is wrong about a space the measurements of the others correct
// it: the expected improvement under a Gaussian process, that under a forest of
// random trees, and later the most promising neighbour of the best. Recordings of
// the same kernel on other devices, if there are any, become the prior of another
// process, which is asked first and abandoned when the measurements disagree.
//
// A Search is for one goroutine.
package search
