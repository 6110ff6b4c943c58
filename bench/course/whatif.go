package course

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"ringmaster/bench/course/arrivals"
	"ringmaster/bench/course/interval"
	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/whatif"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry/decisionlog"
)

// Alternative is what `ringmaster whatif` said of a neighbour of a queue's usual geometry, from audits of a cell, and
// what the neighbour took when it ran in another.
type Alternative struct {
	Load   string         `json:"load"`
	Queue  string         `json:"queue"`
	Round  int            `json:"round"`
	Answer whatif.Answer  `json:"answer"`
	Ran    interval.Ratio `json:"ran"` // device time of the same slots, over the usual geometry's
}

// Compared says whether both are known.
func (a *Alternative) Compared() bool { return a.Answer.Ratio != 0 && a.Ran.Pairs > 1 }

// Off is how far the estimate is from what running the neighbour took, as a share of that.
func (a *Alternative) Off() float64 { return math.Abs(a.Answer.Ratio/a.Ran.Mean - 1) }

// Holds says whether the estimate's interval has in it what running the neighbour took. That is only known within an
// interval of its own, so the two halves that face each other add up as those of independent errors do.
func (a *Alternative) Holds() bool {
	estimated, ran := math.Log(a.Answer.Ratio), math.Log(a.Ran.Mean)
	if estimated < ran {
		return ran-estimated <= math.Hypot(math.Log(a.Answer.High)-estimated, ran-math.Log(a.Ran.Low))
	}
	return estimated-ran <= math.Hypot(estimated-math.Log(a.Answer.Low), math.Log(a.Ran.High)-ran)
}

// auditsOf is how many decisions there are for one audit in such a cell.
const auditsOf = 10

// turnOf is how long a neighbour has its turn: one burst of a load that has bursts.
const turnOf = arrivals.OnOffPeriod

// Alternatives compares, on the load of each part, what whatif says with what it is about. Tuners are off: with one,
// the usual geometry of the two cells is not the same.
func Alternatives(ctx context.Context, cfg *Config, each func(Alternative) error) error {
	if err := cfg.Validate(); err != nil {
		return err
	}
	r := &runner{cfg: cfg, capacities: make(map[string]float64), began: time.Now()}
	for i := range cfg.Parts {
		if err := r.capacity(ctx, &cfg.Parts[i].Load); err != nil {
			return err
		}
		for round := range cfg.Rounds {
			if err := r.alternatives(ctx, &cfg.Parts[i], round, each); err != nil {
				return fmt.Errorf("%s: %w", cfg.Parts[i].Load.Name, err)
			}
		}
	}
	return nil
}

func (r *runner) alternatives(ctx context.Context, p *Part, round int, each func(Alternative) error) error {
	by := policy.Standard()
	by.AuditLaunches = auditsOf
	seed := r.cfg.Seed + uint64(round)
	turns := newSwitchback(by, turnOf, seed)
	ran, err := r.logged(ctx, p, turns, by, seed)
	if err != nil {
		return err
	}
	defer os.Remove(ran)
	draws, err := drawsOf(ran)
	if err != nil {
		return err
	}
	audited, err := r.logged(ctx, p, nil, by, seed)
	if err != nil {
		return err
	}
	defer os.Remove(audited)
	study, err := whatif.Read(decisions.FromFile(audited, nil), "", nil)
	if err != nil {
		return err
	}
	for _, of := range study.Report().Queues {
		queue := of.Queue[len(workerName)+1:]
		pairs := turns.pairs(queue, draws[queue])
		for k, answer := range of.Answers {
			a := Alternative{Load: p.Load.Name, Queue: queue, Round: round, Answer: answer, Ran: interval.Of(pairs[turns.draws[k]])}
			if err := each(a); err != nil {
				return err
			}
		}
	}
	return nil
}

// logged plays a part's load and returns the file of its decisions.
func (r *runner) logged(ctx context.Context, p *Part, by rival, cfg policy.Config, seed uint64) (file string, err error) {
	r.copies++
	file = filepath.Join(r.cfg.Dir, fmt.Sprintf("decisions-%d-%d", os.Getpid(), r.copies))
	batches := r.schedule(&p.Load, p.Rate, p.Span, seed)
	err = r.on(ctx, setup{policy: cfg, tuner: session.Off, rival: by, waves: true, audits: file}, func(rig *rig) error {
		_, err := newPlayer(rig, &p.Load, batches, seed).play(ctx, batches, p.Span)
		return err
	})
	if err != nil {
		return "", errors.Join(err, os.Remove(file))
	}
	return file, nil
}

// drawsOf are the draws of a log's decisions, by queue and decision.
func drawsOf(file string) (map[string]map[uint64]uint64, error) {
	source := decisions.FromFile(file, nil)
	defer source.Close()
	all := make(map[string]map[uint64]uint64)
	err := decisions.Walk(source, nil, func(_ *policy.Config, logged, _ *decisionlog.Entry, _ bool) {
		if all[logged.Queue] == nil {
			all[logged.Queue] = make(map[uint64]uint64)
		}
		all[logged.Queue][logged.Decision] = logged.Request.Draw
	})
	return all, err
}
