package graphs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ringmaster/cmd/runtime/decisions"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/megakernel/frontier"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/graph"
	"ringmaster/megakernel/kernelcache"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/policy"
)

// Run runs the passes of a spec on a device, one after the other. Programs are loaded from
// binaries and kept there, unless that is nil. Every decision is appended to log unless that is nil.
func Run(ctx context.Context, device gpu.Device, p graph.Pair, spec *Spec, passes []Pass, binaries *disk.Dir, log *decisions.Log) ([]Outcome, error) {
	memory, err := room(device, p, spec, passes)
	if err != nil {
		return nil, err
	}
	cfg := kernelcache.DefaultConfig()
	cfg.Disk = binaries
	programs := kernelcache.Open(cfg, kernelcache.Target{Device: device})
	defer programs.Close()
	g, err := frontier.Load(device, p, frontier.Options{Programs: programs})
	if err != nil {
		return nil, err
	}
	desk := newLocalDesk(device, &spec.Policy, log)
	_, renderer, _ := device.Identity()
	var outcomes []Outcome
	for i := range passes {
		var result frontier.Result
		if result, err = runPass(ctx, desk, g, spec, p.Out, &passes[i], memory); err != nil {
			break
		}
		outcomes = append(outcomes, Outcome{renderer, result})
	}
	return outcomes, errors.Join(err, g.Close())
}

// runPass runs one pass by the decisions of a desk.
func runPass(ctx context.Context, desk *localDesk, g *frontier.Graph, spec *Spec, rows *graph.Graph, pass *Pass, memory Memory) (frontier.Result, error) {
	job := spec.job(pass)
	needs, err := g.Needs(job)
	if err != nil {
		return frontier.Result{}, err
	}
	spec.fit(&job, needs)
	desk.jobs++
	result, log, err := walk(ctx, desk, g, job, needs, spec.DecideHost, memory, func() Memory {
		return Memory{memory.resident + g.Kept(), memory.budget}
	})
	if spec.Budget > 0 && errors.Is(err, frontier.ErrBudget) {
		err = fmt.Errorf("--budget %d is too small: %w", spec.Budget, err)
	}
	if err != nil {
		return result, err
	}
	log()
	if spec.Verify && spec.Join != nil {
		err = spec.verifyJoin(ctx, g, rows, pass, result.Values)
	}
	return result, err
}

// Reference runs the passes with the plain Go algorithms.
func Reference(p graph.Pair, spec *Spec, passes []Pass) (outcomes []Outcome) {
	for i := range passes {
		begin := time.Now()
		values := spec.reference(p, &passes[i])
		outcomes = append(outcomes, Outcome{"reference", frontier.Result{Values: values, Time: time.Since(begin)}})
	}
	return outcomes
}

// room is the memory of a graph and of the jobs beside it. It fails, before anything is
// uploaded, if the device cannot hold them.
func room(dev gpu.Device, p graph.Pair, spec *Spec, passes []Pass) (Memory, error) {
	memory := Memory{resident: p.Bytes()}
	m, known := worker.DeviceMemory(dev)
	if !known || len(passes) == 0 {
		return memory, nil
	}
	needs, err := frontier.NeedsOn(dev, p, spec.job(&passes[0]))
	if err != nil {
		return memory, err
	}
	if err := worker.FitsDevice(memory.resident+needs.Fixed, m, known); err != nil {
		return memory, fmt.Errorf("the graph takes %s bytes and the job at least %s: %w", text.Grouped(memory.resident), text.Grouped(needs.Fixed), err)
	}
	memory.budget = m.Available
	return memory, nil
}

// limits are what a device allows a launch.
func limits(dev gpu.Device) policy.Limits {
	var l policy.Limits
	l.MaxWorkgroupSizeX, l.MaxWorkgroupsPerDimension, l.MaxInvocationsPerWorkgroup = dev.WorkgroupLimits()
	return l
}
