// Package live tunes a running ring: it turns launch reports into the geometry
// of the next launch.
//
// A [Space] holds the geometries that a device allows for a workload: workgroup
// width, workgroups, slots a ticket claims and slots of a dispatch. A [Tuner] keeps
// one of them, the incumbent, and compares others with it. It works in the logarithm
// of the time of a slot, in which noise is relative and effects add up.
//
//	         a look pays, and is paid for
//	KEEP ───────────────────────────────▶ LOOK
//	run the incumbent,                    run another geometry once,
//	watch its time                        compare, maybe replace the incumbent
//	  ▲ ▲                                    │
//	  │ └────────────────────────────────────┘
//	  └── its time has changed: what was known is doubtful, what was earned forgotten
//
// The first incumbent is the policy's own geometry: a tuner that knows nothing has no
// opinion. A look at another geometry is somebody's wait, so it is made only if it pays:
// what it is expected to gain, for as much time again as the queue has had, exceeds what
// it is expected to lose; and only if it is paid for: looks may lose a fiftieth of the time
// for which users waited for the device. Short queues, and those for which nobody waits,
// therefore never look. See account.
//
// There is one way to compare: in pairs. A look at a geometry runs between two
// launches of the incumbent, and what it measures is the difference from their mean.
// So a machine that is slower for a while makes no geometry look worse than another,
// and nothing has to be known of the machine's speed: no level is kept that could
// drift. All that a tuner knows is its last few dozen differences.
//
// A Gaussian process over the logarithms of the parameters, conditioned on the
// differences, says what each geometry may gain over the incumbent, and lose. Its mean is a
// rough model of a device that takes tickets in waves. The process only proposes: a
// geometry that did not run is never kept.
//
// A cumulative sum of the incumbent's residuals notices a change of its time; the size of a
// launch is a covariate. A change makes all differences doubtful, and the same rule begins
// anew: a load that never settles is short-lived each time.
//
// Everything is a function of values: no clock, no I/O, no randomness. A copy of a
// [Tuner] is a snapshot; a tuner is used by one goroutine at a time. Its constants
// are in constants.go.
package live
