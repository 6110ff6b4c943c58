package megakernel

import "ringmaster/megakernel/kernel"

// The engine's names for what package kernel has.
type (
	Opcode     = kernel.Opcode
	OpcodeSet  = kernel.OpcodeSet
	KernelKind = kernel.KernelKind
	Kernel     = kernel.Kernel
	Catalog    = kernel.Catalog
	Part       = kernel.Part
	Wave       = kernel.Wave
	Geometry   = kernel.Geometry
	Image      = kernel.Image
	Identities = kernel.Identities
)

const (
	OpNop             = kernel.OpNop
	OpStore           = kernel.OpStore
	OpAdd             = kernel.OpAdd
	OpLoad            = kernel.OpLoad
	OpCompareSwap     = kernel.OpCompareSwap
	OpCopy            = kernel.OpCopy
	OpFault           = kernel.OpFault
	OpFence           = kernel.OpFence
	OpPrint           = kernel.OpPrint
	OpPacked          = kernel.OpPacked
	OpYield           = kernel.OpYield
	OpAwait           = kernel.OpAwait
	CopyCap           = kernel.CopyCap
	MaxAttempts       = kernel.MaxAttempts
	PackedMax         = kernel.PackedMax
	MaxFusedRows      = kernel.MaxFusedRows
	DefaultLoopBudget = kernel.DefaultLoopBudget
	Interpreter       = kernel.Interpreter
	Fused             = kernel.Fused
	Lease             = kernel.Lease
	Exact             = kernel.Exact
)

var (
	ErrOpcode     = kernel.ErrOpcode
	ErrSlot       = kernel.ErrSlot
	ErrPacked     = kernel.ErrPacked
	BuiltIn       = kernel.BuiltIn
	NewCatalog    = kernel.NewCatalog
	NewOpcodeSet  = kernel.NewOpcodeSet
	FusedKernel   = kernel.FusedKernel
	Pack          = kernel.Pack
	NewIdentities = kernel.NewIdentities
	ParseKernel   = kernel.ParseKernel
	Source        = kernel.Source
	SourceOf      = kernel.SourceOf
	Fingerprint   = kernel.Fingerprint
	Interpret     = kernel.Interpret
)
