//go:build !race

package megakernel

const raceAllocations = 0
