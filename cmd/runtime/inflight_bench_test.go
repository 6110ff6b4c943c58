//go:build cgo

package main

import (
	"fmt"
	"log/slog"
	"testing"

	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// silentPublisher confirms done records and says nothing.
type silentPublisher struct{}

func (silentPublisher) Recommend(string, string, *telemetry.Recommendation, []string) {}
func (silentPublisher) Report(string, string, *telemetry.Launch)                      {}
func (silentPublisher) Done(_, _ string, _ *telemetry.Done, sent func(error))         { sent(nil) }

const drainBatches, drainSlots = 512, 4096

// BenchmarkWorkerInFlight is how fast the worker actor drains a deep queue, from the
// first submission to the last done record, with one launch in flight and with three.
func BenchmarkWorkerInFlight(b *testing.B) {
	for _, depth := range []uint32{4096, 65536} {
		for _, pipelined := range []bool{false, true} {
			b.Run(fmt.Sprintf("depth %d/pipelined %v", depth, pipelined), func(b *testing.B) {
				for b.Loop() {
					drainThroughActors(b, depth, pipelined)
				}
				b.ReportMetric(drainBatches*drainSlots*float64(b.N)/b.Elapsed().Seconds(), "slots/s")
			})
		}
	}
}

func drainThroughActors(b *testing.B, depth uint32, pipelined bool) {
	b.StopTimer()
	device, err := (&glFlags{GL: "auto"}).open(slog.New(slog.DiscardHandler))
	if err != nil {
		b.Skip(err)
	}
	e, err := newEngine(device, nil, nil, leaseChoice{}, rebuilder{log: slog.New(slog.DiscardHandler)}, nil)
	if err != nil {
		b.Fatal(err)
	}
	cfg := actors.DefaultConfig()
	cfg.Incarnation, cfg.Autotuner = 7, session.Off
	cfg.Policy.Pipelined, cfg.Policy.Sizing.BatchDepth = pipelined, depth
	s, err := actors.New(cfg, silentPublisher{})
	if err != nil {
		b.Fatal(err)
	}
	limits := policy.Limits{SubgroupSize: 8}
	limits.MaxWorkgroupSizeX, limits.MaxWorkgroupsPerDimension, limits.MaxInvocationsPerWorkgroup = e.keeper.device.WorkgroupLimits()
	if err := s.AttachEngine("w", limits, 0, anyDevice{e}); err != nil {
		b.Fatal(err)
	}
	work := telemetry.Work{Slots: make([]telemetry.Slot, drainSlots)}
	for i := range work.Slots {
		work.Slots[i] = telemetry.Slot{Opcode: uint32(megakernel.OpAdd), Priority: priorityNormal, Args: [12]uint32{1, uint32(i)}, NArgs: 2}
	}
	submit := func(name string, n int) {
		done := make(chan telemetry.Outcome, n)
		for i := range n {
			work.Batch = fmt.Sprint(name, i)
			s.Submit("w", "q", &work, 0, func(o telemetry.Outcome, _ error) { done <- o })
		}
		for range n {
			if o := <-done; o != telemetry.OutcomeDone {
				b.Fatal(o)
			}
		}
	}
	submit("warm", 8)
	b.StartTimer()
	submit("b", drainBatches)
	b.StopTimer()
	s.Close()
	if err := e.close(); err != nil {
		b.Fatal(err)
	}
	b.StartTimer()
}

// anyDevice is an engine whose device has no name.
type anyDevice struct{ *engine }

func (anyDevice) DeviceIdentity() string { return "" }
