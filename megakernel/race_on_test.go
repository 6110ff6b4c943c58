//go:build race

package megakernel

// raceAllocations is what the race detector adds to a launch: it makes
// sync.Pool drop some of what is put into it.
const raceAllocations = 4
