// Package tuner holds the workgroup widths of the original's tuner and what
// launches measured at them.
//
// [Candidates] are the widths that a device allows. [Samples] folds launch reports
// into count, mean and variance of the time that a slot took, for each width.
// [Steepest] is the natural gradient by which package session chooses among the widths in its
// mode Natural.
//
// Everything here is a function of values: no clock, no randomness, no I/O.
package tuner
