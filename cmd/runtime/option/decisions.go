package option

import (
	"time"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/natsio/decided"
)

// Policy choose the policy.
type Policy struct {
	Name string `name:"policy" enum:"standard,reference" default:"standard" env:"RINGMASTER_POLICY" help:"Launch policy: standard, or reference, which reproduces vyre 0.6 number by number."`
}

func (f *Policy) Config() policy.Config {
	if f.Name == "reference" {
		return policy.Reference()
	}
	return policy.Standard()
}

// DecisionLog say where decisions are logged for replay.
type DecisionLog struct {
	File     string `name:"decision-log" env:"RINGMASTER_DECISION_LOG" placeholder:"FILE" help:"Log every decision, and every level of graph jobs, to FILE for ringmaster replay. Decisions are in the stream of decisions besides, where the server has JetStream."`
	MaxBytes int64  `name:"decision-log-bytes" default:"268435456" env:"RINGMASTER_DECISION_LOG_BYTES" help:"Most bytes that the decision log takes. The oldest half is dropped first: FILE is renamed to FILE.1."`
}

func (f *DecisionLog) Config(version string) decisions.Config {
	return decisions.Config{File: f.File, MaxBytes: f.MaxBytes, Software: version}
}

// Decided bound the stream of decisions.
type Decided struct {
	MaxBytes int64         `name:"decided-bytes" placeholder:"N" env:"RINGMASTER_DECIDED_BYTES" help:"Most bytes of the stream of decisions; the oldest go first (default: 1 GiB, or what the stream has that is there)."`
	PerQueue int64         `name:"decided-per-queue" placeholder:"N" env:"RINGMASTER_DECIDED_PER_QUEUE" help:"How many of its newest decisions a queue has in the stream (default: 1000, or what the stream has)."`
	MaxAge   time.Duration `name:"decided-age" placeholder:"TIME" env:"RINGMASTER_DECIDED_AGE" help:"How long a decision is in the stream (default: 168h, or what the stream has). A queue that is idle for longer begins anew."`
}

func (f *Decided) Bounds() decided.Bounds {
	return decided.Bounds{MaxBytes: f.MaxBytes, PerQueue: f.PerQueue, MaxAge: f.MaxAge}
}
