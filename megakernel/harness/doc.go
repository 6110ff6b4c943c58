// Package harness measures geometries of the ring's kernels: it drains the same slots again
// and again, without the time that it takes to submit them.
package harness
