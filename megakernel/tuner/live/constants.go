package live

// The constants of the tuner. Times are logarithms: 0.01 is one percent.
const (
	// What looking at other geometries may cost, see account.
	lostShare  = .02    // of the time for which users waited: nobody feels a fiftieth
	worthwhile = .004   // an expected gain below this is none: timers see no less
	fearful    = 1.     // standard deviations by which a look may take longer than expected and still be paid for
	safety     = .4     // a geometry that surely takes half as long again is not looked at again
	reconsider = 9. / 8 // by how much the time has to grow before a look that did not pay is thought of again

	// When another geometry becomes the incumbent, of those that ran.
	replaceErrors = 1. // standard deviations by which its expected difference must be below 0

	// What a pair says.
	noisePrior  = .03   // standard deviation of a launch, assumed before it was measured,
	noiseWeight = 4     // and as how many differences that counts
	noiseFloor  = .005  // the least that is believed: timers and clocks are not better
	mostNoise   = .5    // the most that is believed of what is remembered
	noiseMemory = 64    // differences after which older ones lose weight
	robust      = 2.    // standard deviations at which a difference counts for the noise at most,
	ofRobust    = .9205 // and the variance of a normal value that is clipped so
	worstRatio  = 2.    // largest logarithm of a difference: what is worse is not told apart

	// When the incumbent's time has changed.
	settleIn  = 8       // launches in a row that say what it takes; the first ones after looks are slower
	allowance = 1.      // standard deviations that a launch may take longer: with this and the
	alarm     = 8.      // bound of the sum, less than one false alarm in a million launches
	outlier   = 4.      // clips a launch's residual, so that two disturbed launches are no change
	levelGain = 1. / 32 // how fast what it is expected to take follows a slow drift

	// What follows a change.
	staleVar = .04 // variance added to differences of before, and to those measured elsewhere

	// How the time grows with the slots of a launch: between 0, all overhead, and 1, none.
	slopePrior    = .75
	slopeVariance = .06
	farSize       = 1.5 // beyond a factor of 4.5 the slope is no guide

	// What no launch can take. The timer is wrong, unless a few in a row say the same.
	maxNs          = 60e9 // a dispatch of a minute is beyond every watchdog
	wallSlack      = 1.02 // by which a device's clock may run ahead of the host's
	fasterThanSelf = 4.0  // times faster than the geometry was
	fasterThanBest = 64.0 // times faster than the incumbent
	convincing     = 3    // such launches in a row are believed

	// What is remembered.
	maxPairs  = 48  // differences, and so looks from the start or a change on: simulated devices come within 2 % of the best
	maxArms   = 32  // geometries of an entry of the cache
	maxBarred = 16  // geometries that do not run here; one more ends the looks until a change
	restored  = 4   // looks as which a stored measurement counts at most
	doubtful  = .15 // standard deviation of a difference that is not worth remembering
)

// The process over the logarithm of the cost. Lengths are in doublings of a
// parameter; neighbouring widths have little in common, because a driver compiles
// another program for each.
const (
	jointVar = .07 // variance of effects of all parameters together
	trustVar = .15 // of the weight of the mean: the model's logarithms may be off by a factor
)

var (
	lengths = [axes]float64{1.2, 3, 3, 2.5}
	effects = [axes]float64{.30, .30, .30, .30} // variance of each parameter's own effect

	derivedLengths = [derived]float64{2, 2, 2} // of rows of a ticket, rounds of a workgroup, lanes
	derivedEffects = [derived]float64{.1, .1, .1}
)

// waves are the costs of the model of a device that takes tickets in waves, in units
// of one row of a workgroup. Only their ratios matter, and those only roughly.
var waves = struct{ dispatch, group, claim, row float64 }{dispatch: 8, group: .002, claim: 2, row: 1}

// What is assumed of a device that does not say what it holds.
const (
	gpuUnits, gpuLanes           = 128, 1 << 17
	softwareUnits, softwareLanes = 2, 1 << 10
	narrowSubgroup               = 8      // of a software renderer
	leastGroupsOfGL              = 65_535 // along an axis
)
