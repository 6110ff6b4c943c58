package main

import "ringmaster/megakernel/policy"

// hardwareSlots and hardwareGeometries suit a GPU: 4 Mi slots of 64 bytes are
// several times its cache, and it takes thousands of workgroups to fill it.
// hardwareSmall fits the cache. softwareSlots take a software renderer long enough to hide a dispatch.
const (
	softwareSlots = 1 << 20
	hardwareSlots = 4 << 20
	hardwareSmall = 256 << 10
	hardwareWords = 40
)

// hardwareGeometries are those among which the best ones for a large ring were
// found. Groups times chunk of the last ones cover the ring, so that they take no
// tickets.
var hardwareGeometries = []policy.Geometry{
	{Width: 256, Groups: 1056, Chunk: 2048},
	{Width: 512, Groups: 512, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 1024}, {Width: 512, Groups: 528, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 4096},
	{Width: 512, Groups: 512, Chunk: 4096}, {Width: 512, Groups: 1056, Chunk: 4096},
	{Width: 1024, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 256, Chunk: 2048}, {Width: 1024, Groups: 256, Chunk: 4096}, {Width: 1024, Groups: 256, Chunk: 8192},
	{Width: 1024, Groups: 264, Chunk: 1024}, {Width: 1024, Groups: 264, Chunk: 2048}, {Width: 1024, Groups: 264, Chunk: 4096}, {Width: 1024, Groups: 264, Chunk: 8192},
	{Width: 1024, Groups: 512, Chunk: 4096}, {Width: 1024, Groups: 528, Chunk: 1024}, {Width: 1024, Groups: 528, Chunk: 2048}, {Width: 1024, Groups: 528, Chunk: 4096},
	{Width: 512, Groups: 2048, Chunk: 2048}, {Width: 1024, Groups: 1024, Chunk: 4096},
}

// smallGeometries are the same for a small ring.
var smallGeometries = []policy.Geometry{
	{Width: 256, Groups: 264, Chunk: 1024}, {Width: 256, Groups: 528, Chunk: 256}, {Width: 512, Groups: 264, Chunk: 512},
	{Width: 1024, Groups: 132, Chunk: 1024}, {Width: 1024, Groups: 264, Chunk: 1024},
	{Width: 256, Groups: 1024, Chunk: 256}, {Width: 512, Groups: 512, Chunk: 512}, {Width: 512, Groups: 256, Chunk: 1024},
	{Width: 1024, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 128, Chunk: 2048},
}

// repeatedGeometries and repeatedSmall are the best of these.
var (
	repeatedGeometries = []policy.Geometry{
		{Width: 512, Groups: 512, Chunk: 2048}, {Width: 512, Groups: 528, Chunk: 2048}, {Width: 1024, Groups: 256, Chunk: 2048},
		{Width: 1024, Groups: 256, Chunk: 4096}, {Width: 1024, Groups: 264, Chunk: 2048},
	}
	repeatedSmall = []policy.Geometry{
		{Width: 512, Groups: 512, Chunk: 512}, {Width: 512, Groups: 256, Chunk: 1024}, {Width: 1024, Groups: 256, Chunk: 1024}, {Width: 256, Groups: 1024, Chunk: 256},
	}
)

// softwareGeometries are a small product of widths, groups and chunks that shows
// the slope in each direction.
var softwareGeometries = []policy.Geometry{
	{Width: 64, Groups: 8, Chunk: 256}, {Width: 64, Groups: 8, Chunk: 1024}, {Width: 256, Groups: 8, Chunk: 1024},
	{Width: 256, Groups: 32, Chunk: 1024}, {Width: 512, Groups: 8, Chunk: 4096}, {Width: 1024, Groups: 8, Chunk: 4096},
}

const bareKernel = "bare four-opcode kernel, same slots and geometry"

// drainOf is the configuration of a drain for the session's device.
func drainOf(s *session, program drainProgram) drainConfig {
	cfg := drainConfig{program: program, slots: s.flags.Slots, runs: 5, geometries: softwareGeometries, words: 8}
	if !s.device.Info().Software {
		cfg.geometries, cfg.words, cfg.runs, cfg.lead = hardwareGeometries, hardwareWords, 15, 3
	}
	switch {
	case cfg.slots != 0:
	case s.device.Info().Software:
		cfg.slots = softwareSlots
	default:
		cfg.slots = hardwareSlots
	}
	return cfg
}

// benchDrain times the kernels for which a hand-written program with the same protocol
// exists as a yardstick. It uses few geometries, so that it can be repeated by turns with
// that program.
func benchDrain(s *session) error {
	cfg := drainOf(s, drainFused4)
	if s.device.Info().Software {
		return drainRows(s, cfg, "ring/fused4", bareKernel)
	}
	cfg.geometries = repeatedGeometries
	if err := drainRows(s, cfg, "ring/fused4", bareKernel); err != nil || s.flags.Slots != 0 {
		return err
	}
	cfg.slots, cfg.geometries = hardwareSmall, repeatedSmall
	return drainRows(s, cfg, "ring/fused4-small", bareKernel)
}

// benchRing times draining a ring of resident slots by several kernels and
// geometries, each beside a yardstick on the same slots, and then the ways of slots to the device.
func benchRing(s *session) error {
	small := drainOf(s, drainFused4)
	small.slots, small.geometries = hardwareSmall, smallGeometries
	hot := drainOf(s, drainHot)
	hot.geometries = []policy.Geometry{{Width: 256, Groups: 528, Chunk: 1024}, {Width: 256, Groups: 1056, Chunk: 1024}, {Width: 512, Groups: 264, Chunk: 2048}}
	if s.device.Info().Software {
		hot.geometries = []policy.Geometry{{Width: 64, Groups: 8, Chunk: 1024}, {Width: 256, Groups: 8, Chunk: 1024}}
	}
	for _, d := range []struct {
		cfg             drainConfig
		name, yardstick string
	}{
		{drainOf(s, drainInterpreter), "ring/drain", bareKernel},
		{drainOf(s, drainFused4), "ring/fused4", bareKernel},
		{small, "ring/fused4-small", bareKernel},
		{drainOf(s, drainFused3), "ring/fused3", bareKernel},
		{hot, "ring/hot", "interpreter of the same 32 opcodes"},
	} {
		if d.name == "ring/fused4-small" && (s.device.Info().Software || s.flags.Slots != 0) {
			continue
		}
		if err := drainRows(s, d.cfg, d.name, d.yardstick); err != nil {
			return err
		}
	}
	for _, run := range []func(*session) error{benchFeed, benchStaging, benchLease} {
		if err := run(s); err != nil {
			return err
		}
	}
	return nil
}
