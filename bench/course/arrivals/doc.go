// Package arrivals says when work arrives in an open loop: moments that are known beforehand, from a seed,
// whatever becomes of the work that arrived before. Pure.
package arrivals
