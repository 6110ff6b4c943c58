package main

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// Names of the worker and the queue of a graph job without NATS.
const (
	localWorker = "local"
	localQueue  = "graph"
)

// nowhere is a publisher that discards everything.
type nowhere struct{}

func (nowhere) Recommend(string, string, *telemetry.Recommendation, []string) {}
func (nowhere) Report(string, string, *telemetry.Launch)                      {}
func (nowhere) Done(_, _ string, _ *telemetry.Done, sent func(error))         { sent(nil) }

// newLocalAdvisor decides with actors of its own, without NATS. If logged is not
// empty, it names the file to which every decision is appended. Close ends the actors.
func newLocalAdvisor(device worker.Device, cfg policy.Config, logged string, log *slog.Logger) (_ *graphAdvisor, closed func(context.Context) error, err error) {
	config := actors.DefaultConfig()
	config.Policy, config.Incarnation, config.Logger = cfg, telemetry.NewIncarnation(), log
	a := &graphAdvisor{policy: &cfg, worker: localWorker, patience: decisionPatience}
	if a.log, err = decisions.Open(decisions.Config{File: logged, MaxBytes: 1 << 28}, nil, decisionHeader(config.Incarnation, cfg), log); err != nil {
		return nil, nil, err
	}
	if a.log != nil {
		config.OnDecision = a.log.Record
	}
	closed = func(ctx context.Context) error {
		if a.system != nil {
			a.system.Close()
		}
		if a.log == nil {
			return nil
		}
		return a.log.Close(ctx)
	}
	var seq atomic.Uint64
	a.publish = func(string, *telemetry.Graph) telemetry.Header {
		return telemetry.Header{Minor: telemetry.Minor, Incarnation: config.Incarnation, Seq: seq.Add(1)}
	}
	if a.system, err = actors.New(config, nowhere{}); err == nil {
		// There is no ring here, so the device is announced as another process would do it.
		err = a.system.Announce(localWorker, &telemetry.Record{
			Header: telemetry.Header{Kind: telemetry.KindWorker, Minor: telemetry.Minor, Incarnation: config.Incarnation + 1, Seq: 1},
			Worker: worker.Announcement(device, nil),
		})
	}
	if err != nil {
		return nil, nil, errors.Join(err, closed(context.Background()))
	}
	return a, closed, nil
}
