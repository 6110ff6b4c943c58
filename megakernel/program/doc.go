// Package program has the ring's kernels as programs on a device: it builds them by a
// kernelcache.Store and picks for each launch the program that it wants or, until that is
// ready, another one of the same meaning.
package program
