// Package tuner chooses the workgroup width of a queue's kernel from what its
// launches measured.
//
// [Samples] folds launch reports into count, mean and variance of the time a
// slot took, for each width. [Suggest] turns them into the width to use next,
// out of the [Candidates] a device allows.
//
// Everything here is a function of values: no clock, no randomness, no I/O.
// The same samples give the same suggestion, so a decision that used one can
// be replayed.
package tuner
