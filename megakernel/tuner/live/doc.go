// Package live tunes a running ring: it turns launch reports into the geometry
// of the next launch.
//
// A [Space] holds the geometries that a device allows for a workload: workgroup
// width, workgroups, slots a ticket claims and slots of a dispatch. A [Tuner] keeps
// one of them, the incumbent, and compares others with it. It works in the logarithm
// of the time of a slot, in which noise is relative and effects add up.
//
//	           budget of looks spent, or no look is worth its time
//	┌────────▶ EXPLORE ────────────────────────────────────────────▶ KEEP ◀──┐
//	│          choose a look ─▶ run it ─▶ run the incumbent          run the │
//	│              ▲                            │                 incumbent, │
//	│              └── compare, maybe replace ──┘                watch its ──┘
//	│                  the incumbent                              time
//	└──────────────────────────────────────────────────────────────────┘
//	           its time has changed: a shorter exploration
//
// There is one way to compare: in pairs. A look at a geometry runs between two
// launches of the incumbent, and what it measures is the difference from their mean.
// So a machine that is slower for a while makes no geometry look worse than another,
// and nothing has to be known of the machine's speed: no level is kept that could
// drift. All that a tuner knows is its last few dozen differences.
//
// A Gaussian process over the logarithms of the parameters, conditioned on the
// differences, says which geometry may gain most over the incumbent. Its mean is a
// rough model of a device that takes tickets in waves. The process only proposes: a
// geometry that did not run is never kept. Two thirds of the looks are at new
// geometries, the rest at those that ran.
//
// After an exploration the incumbent runs. A cumulative sum of its residuals notices a
// change of its time; the size of a launch is a covariate. A change makes all
// differences doubtful. If the first looks after it agree with them they count again,
// otherwise a shorter exploration follows, which is the shorter the less the load
// settles.
//
// Everything is a function of values: no clock, no I/O, no randomness. A copy of a
// [Tuner] is a snapshot; a tuner is used by one goroutine at a time. Its constants
// are in constants.go.
package live
