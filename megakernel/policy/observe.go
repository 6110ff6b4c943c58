package policy

import "math/bits"

// Signals are what a request says once its missing values are filled in and
// its hot counters judged.
type Signals struct {
	FrontierDensityBps uint16 // given, measured or inferred
	MemoryPressureBps  uint16 // given, measured or inferred
	// DensityKnown and PressureKnown tell a measured zero from "no
	// information": zero counts as known only with its Presence bit.
	DensityKnown  bool
	PressureKnown bool
	// ByEdges: the topology is decided by the frontier's out-edges.
	ByEdges bool

	// Promote: the counter is at its threshold. Warm: it is at most the band
	// below, where what it gained is kept.
	PromoteHotOpcodes bool
	PromoteHotWindows bool
	WarmOpcodes       bool
	WarmWindows       bool

	// CompiledPays: slots were measured to take clearly less time on a compiled kernel, and
	// CompiledHelps that they take less, where what it gained is kept.
	CompiledPays  bool
	CompiledHelps bool
}

// Observe runs the stages infer and promotion.
func Observe(cfg *Config, req *Request) (s Signals) {
	s.observe(cfg, req)
	return s
}

// observe fills in s, which is zero.
func (s *Signals) observe(cfg *Config, req *Request) {
	density, pressure := inferDensity(req), inferPressure(req)
	s.FrontierDensityBps, s.MemoryPressureBps = density, pressure
	s.DensityKnown = density != 0 || req.Present&HasFrontierDensity != 0
	s.PressureKnown = pressure != 0 || req.Present&HasMemoryPressure != 0
	s.ByEdges = cfg.TopologyByEdges && req.Present&HasFrontierEdges != 0 && req.GraphNodeCount != 0

	opcodeBand, windowBand := hotBands(cfg)
	s.PromoteHotOpcodes = req.HotOpcodeCount >= cfg.HotOpcodeThreshold
	s.PromoteHotWindows = req.HotWindowCount >= cfg.HotWindowThreshold
	s.WarmOpcodes = uint64(req.HotOpcodeCount)+opcodeBand >= uint64(cfg.HotOpcodeThreshold)
	s.WarmWindows = uint64(req.HotWindowCount)+windowBand >= uint64(cfg.HotWindowThreshold)
	s.observeCosts(cfg, req)
}

// observeCosts says whether slots take less time on a compiled kernel, as measured.
func (s *Signals) observeCosts(cfg *Config, req *Request) {
	if cfg.ByCost && req.Interpreted.known() && req.Compiled.known() {
		s.CompiledHelps = req.Compiled.SlotPs < req.Interpreted.SlotPs
		s.CompiledPays = req.Compiled.SlotPs <= cfg.clearlyBelow(req.Interpreted.SlotPs)
	}
}

// hotBands are by how much the hot counters may fall below their thresholds
// before what they gained is lost.
func hotBands(cfg *Config) (opcodes, windows uint64) {
	if !cfg.FullHysteresis {
		return 0, 0
	}
	return uint64(cfg.HotOpcodeHysteresis), uint64(cfg.HotWindowHysteresis)
}

// hot says whether there is something to specialise for: as a publisher says, or as measured.
func (s *Signals) hot() bool { return s.PromoteHotOpcodes || s.PromoteHotWindows || s.CompiledPays }

// warm says whether what that has gained may be kept.
func (s *Signals) warm() bool { return s.WarmOpcodes || s.WarmWindows || s.CompiledHelps }

// inferDensity returns the given density, or, when there is none but a queue
// and a graph, the share of the graph's nodes that the queue could hold,
// between 1 and 10,000 bps.
func inferDensity(req *Request) uint16 {
	given := req.FrontierDensityBps != 0 || req.Present&HasFrontierDensity != 0
	if given || req.QueueLen == 0 || req.GraphNodeCount == 0 {
		return req.FrontierDensityBps
	}
	queued := uint64(min(req.QueueLen, req.GraphNodeCount))
	return uint16(max(queued*FullBps/uint64(req.GraphNodeCount), 1))
}

// inferPressure returns the given pressure, or, when there is none but a
// budget and resident bytes, their ratio, at most 10,000 bps.
func inferPressure(req *Request) uint16 {
	given := req.MemoryPressureBps != 0 || req.Present&HasMemoryPressure != 0
	if given || req.ResidentDeviceBytes == 0 || req.MemoryBudgetBytes == 0 {
		return req.MemoryPressureBps
	}
	if req.ResidentDeviceBytes >= req.MemoryBudgetBytes {
		return FullBps
	}
	// resident < budget, so the 128-bit product divided by the budget fits.
	hi, lo := bits.Mul64(req.ResidentDeviceBytes, FullBps)
	bps, _ := bits.Div64(hi, lo, req.MemoryBudgetBytes)
	return uint16(bps)
}
