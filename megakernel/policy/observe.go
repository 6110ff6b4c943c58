package policy

import "math/bits"

// Observation is a request with its signals. It owns its data and may be sent
// between goroutines.
type Observation struct {
	Request Request
	Signals
}

// Signals are the missing values of a request filled in, and its hot counters
// judged.
type Signals struct {
	FrontierDensityBps uint16 // given, measured or inferred
	MemoryPressureBps  uint16 // given, measured or inferred
	// DensityKnown and PressureKnown tell a measured zero from "no
	// information": zero counts as known only with its Presence bit.
	DensityKnown  bool
	PressureKnown bool
	// ByEdges: the topology is decided by the frontier's out-edges.
	ByEdges bool

	// The counters are at their thresholds, or within the band below.
	PromoteHotOpcodes bool
	PromoteHotWindows bool
	WarmOpcodes       bool
	WarmWindows       bool
}

// Observe runs the stages infer and promotion.
func Observe(cfg *Config, req *Request) Observation {
	o := Observation{Request: *req}
	o.observe(cfg, req)
	return o
}

// observe fills in place: signals returned by value would be stored narrow and
// copied wide, which stalls the processor.
func (s *Signals) observe(cfg *Config, req *Request) {
	density, pressure := inferDensity(req), inferPressure(req)
	s.FrontierDensityBps, s.MemoryPressureBps = density, pressure
	s.DensityKnown = density|uint16(req.Present&HasFrontierDensity) != 0 // without a branch
	s.PressureKnown = pressure|uint16(req.Present&HasMemoryPressure) != 0
	s.ByEdges = cfg.TopologyByEdges && req.Present&HasFrontierEdges != 0 && req.GraphNodeCount != 0

	var opcodes, windows uint64 // bands
	if cfg.FullHysteresis {
		opcodes, windows = uint64(cfg.HotOpcodeHysteresis), uint64(cfg.HotWindowHysteresis)
	}
	s.PromoteHotOpcodes = req.HotOpcodeCount >= cfg.HotOpcodeThreshold
	s.PromoteHotWindows = req.HotWindowCount >= cfg.HotWindowThreshold
	s.WarmOpcodes = uint64(req.HotOpcodeCount)+opcodes >= uint64(cfg.HotOpcodeThreshold)
	s.WarmWindows = uint64(req.HotWindowCount)+windows >= uint64(cfg.HotWindowThreshold)
}

// hot says whether either promotion applies.
func (s *Signals) hot() bool { return s.PromoteHotOpcodes || s.PromoteHotWindows }

// warm says whether either may be kept.
func (s *Signals) warm() bool { return s.WarmOpcodes || s.WarmWindows }

// inferDensity returns the given density, or, when there is none but a queue
// and a graph, the share of the graph's nodes that the queue could hold,
// between 1 and 10,000 bps.
func inferDensity(req *Request) uint16 {
	if req.FrontierDensityBps != 0 || req.Present&HasFrontierDensity != 0 ||
		req.QueueLen == 0 || req.GraphNodeCount == 0 {
		return req.FrontierDensityBps
	}
	queued := uint64(min(req.QueueLen, req.GraphNodeCount))
	return uint16(max(queued*FullBps/uint64(req.GraphNodeCount), 1))
}

// inferPressure returns the given pressure, or, when there is none but a
// budget and resident bytes, their ratio, at most 10,000 bps.
func inferPressure(req *Request) uint16 {
	if req.MemoryPressureBps != 0 || req.Present&HasMemoryPressure != 0 ||
		req.ResidentDeviceBytes == 0 || req.MemoryBudgetBytes == 0 {
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
