// Package live tunes a running ring: it turns launch reports into the geometry
// of the next launch.
//
// A [Space] holds the geometries a device allows for a workload: workgroup
// width, workgroups, slots a ticket claims and slots of a dispatch. A [Tuner]
// measures a few of them and settles on the best. It works in the logarithm of
// the time of a slot, in which noise is relative and effects add up.
//
// While it explores, a Gaussian process over the logarithms of the parameters,
// whose mean is a rough model of a ring's cost, says what to measure next; then
// the natural gradient of the softmax policy over the best few says which of
// them to measure again. The process only proposes: a geometry is selected only
// if it ran. Exploration has a budget, and a geometry whose confidence interval
// lies above a bound is not run again.
//
// Afterwards the tuner keeps its choice unless another's gain exceeds the
// noise, and watches the choice for a change of its cost with a cumulative sum
// of residuals; the size of a launch is a covariate. A few more launches tell
// whether there was a change. A change makes the earlier measurements doubtful
// until looks at a few geometries, in pairs with the choice, have confirmed them;
// if they do not, a shorter exploration follows, which is the shorter the less the
// load settles. Where launches are disturbed, part of an exploration is held back
// for such looks.
//
// Everything is a function of values: no clock, no I/O, no randomness. A copy
// of a [Tuner] is a snapshot; a tuner is used by one goroutine at a time.
package live
