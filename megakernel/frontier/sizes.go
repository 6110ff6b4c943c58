package frontier

// Sizes that the kernels share with the host.
const (
	logRecords     = 4096   // levels between two looks of the host
	tileEdges      = 4096   // edges of a tile
	leastHeavy     = 256    // least out-degree of a row that is ever cut
	hybridDegree   = 512    // out-degree from which the hybrid topology cuts a row into tiles
	sparseDegree   = 4096   // out-degree from which a sparse push cuts a row, too
	loopBudget     = 50_000 // iterations of a dispatch, well below the 65,535 of some drivers
	stagedHits     = 1024   // hits that a workgroup holds back
	probes         = 8      // in-edges at which an invocation looks before the workgroup shares the rest
	pushGroupsGoal = 1024   // least chunks that a push of many edges should have
)

// Widths of workgroups.
const (
	leastWidth    = 32
	mostWidth     = 1024
	hardwareWidth = 256
	softwareWidth = 64 // of a software renderer, which runs the invocations of a workgroup one vector after the other
)

// The persistent kernel's workgroups and their invocations, and the largest frontier that it takes. A team of several
// workgroups needs hardware, on which all of them run at the same time.
const (
	teamGroups      = 32
	teamWidth       = 256
	persistentNodes = 8192
	persistentEdges = 32_768

	// softwareTurns is the number of loop iterations after which the kernel begins no other level on a software renderer.
	// Hardware has no such bound.
	softwareTurns = 40_000
)

// Workgroups of the level kernel. An H200 runs 528 of them at the same time. A software renderer ends a loop silently after
// some 65,535 iterations, counted over all loops of a dispatch: it gets so many workgroups that each invocation has 64 edges
// and 16 nodes, which take less than 4,000, whatever the order's bound on the workgroups of a push.
const (
	hardwareGroups = 528
	softwareGroups = 4096
	softwareEdges  = 64
	softwareNodes  = 16
)

// blockEdges is the number of in-edges from which a block of as many nodes as a workgroup has invocations is pulled in
// pieces, so that the shares of several fit an invocation's loop budget.
func blockEdges(width uint32) uint32 { return width * (loopBudget / 16) }
