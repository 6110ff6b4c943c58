// Package search looks for the cheapest configuration of a space with few
// measurements.
//
// A [Searcher] is asked for a configuration and told what it cost, again and
// again. It holds no clock and no hidden randomness: the same options and the
// same answers give the same questions. The cost of a configuration that fails
// is [Failed]; it counts as a measurement like any other.
//
// [New] makes a searcher by the name of its strategy. random, local, annealing
// and genetic are the classic searches; natural samples from a factorised
// policy that follows the natural gradient; gaussian and trees maximise the
// expected improvement under a model of the cost; mixture, the default, lets the
// two models and a neighbourhood search take turns. rank and warm start from
// recordings of the same kernel on other devices: rank tries what was best
// there; warm takes them as the prior of a Gaussian process and abandons that
// prior when the measurements disagree.
//
// A searcher is for one goroutine.
package search
