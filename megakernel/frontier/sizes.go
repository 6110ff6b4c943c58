package frontier

// Sizes that the kernels share with the host.
const (
	logRecords     = 4096   // levels between two looks of the host
	sparseDegree   = 4096   // out-degree from which a sparse push cuts a row, too
	loopBudget     = 50_000 // iterations of a dispatch, well below the 65,535 of some drivers
	stagedHits     = 1024   // hits that a workgroup holds back
	probes         = 8      // in-edges at which an invocation looks before the workgroup shares the rest
	pushGroupsGoal = 1024   // least chunks that a push of many edges should have
	levelGroups    = 525    // most workgroups of the level kernel, without up to two that tell rounds apart; an H200 runs 528 at the same time
	directorWidth  = 8      // invocations of the director: one vector of 256 bits
)

// The resident kernel's workgroups and their invocations. A team of several needs hardware on
// which all of them run at the same time.
const (
	teamGroups = 32
	teamWidth  = 256
)

// Where invocations are lanes of a processor's vectors, each takes some rows of a push: at
// least narrowRows, if there are so many, and at most narrowMost. In a pull it takes the nodes
// of one word of a bitmap, those below narrowBlock in-edges, so that they fit the loop budget.
const (
	narrowRows  = 8
	narrowMost  = 128
	narrowNodes = 32
	narrowBlock = 1024
	narrowPiece = 1024 // in-edges of a piece of longer rows

	narrowTiled    = 16     // up to so many workgroups over tiles, each takes only as many tiles as it has invocations
	narrowCleared  = 65_536 // most words of a bitmap that the director clears during a level
	narrowResident = 4096   // most nodes, and most out-edges, of a frontier that the director's one vector walks itself
)

// leastHeavy is the least out-degree of a row that is ever cut.
func leastHeavy(narrow bool) uint32 {
	if narrow {
		return 128
	}
	return 256
}

// tileEdges is the number of edges of a tile.
func tileEdges(narrow bool) uint32 {
	if narrow {
		return 128
	}
	return 4096
}

// hybridDegree is the out-degree from which the hybrid topology cuts a row into tiles.
func hybridDegree(narrow bool) uint32 {
	if narrow {
		return 128
	}
	return 512
}

func (k kernel) tileEdges() uint32 { return tileEdges(k.narrow) }

// tilesAGroup is the number of tiles that one workgroup should take.
func (k kernel) tilesAGroup() uint32 {
	if k.narrow {
		return k.width * narrowRows
	}
	return 1
}

// blockEdges is the number of in-edges from which a node, or a block of as many nodes as
// a workgroup has invocations, is pulled in pieces, so that the shares of several fit an
// invocation's loop budget.
func (k kernel) blockEdges() uint32 {
	if k.narrow {
		return narrowBlock
	}
	return k.width * (loopBudget / 16)
}

// residentTurns is the number of iterations after which the resident kernel, or a narrow
// director, begins no other level. Hardware, which is where subgroups are, has no such bound.
func (k kernel) residentTurns() uint32 {
	if k.subgroups {
		return 1<<32 - 1
	}
	return 40_000
}
