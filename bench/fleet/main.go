// Command fleet measures what faults cost a fleet: several nats-server processes that keep the
// stream of decisions together, several processes that decide, and simulated workers whose queues
// report their load. It kills, stops and restarts them, and prints for each kind of fault how long
// a record waited for its decision, and what the stream has at the end: decisions that were made
// twice, or inputs that went back. docs/reliability.md has its table.
//
//	go run ./bench/fleet --workers 1000 --runs 20
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringmaster/cmd/runtime/audit"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/decided"
)

func main() {
	workers := flag.Int("workers", 100, "simulated workers, of one queue each")
	rate := flag.Float64("rate", 10, "records of a queue a second")
	servers := flag.Int("servers", 3, "nats-server processes")
	deciders := flag.Int("deciders", 3, "processes that decide")
	runs := flag.Int("runs", 5, "times of each fault")
	only := flag.String("faults", "", "names of the faults, separated by commas; all if empty")
	flag.Parse()
	if err := run(*workers, *rate, *servers, *deciders, *runs, *only); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

// fault is something that goes wrong, and how it is made good again.
type fault struct {
	name string
	do   func(f *fleet, run int)
	// window is how long its effect is looked for.
	window time.Duration
}

var faults = []fault{
	{"none", func(*fleet, int) {}, 3 * time.Second},
	{"decider killed", func(f *fleet, run int) {
		d := f.deciders[run%len(f.deciders)]
		d.end(syscall.SIGKILL)
		time.Sleep(2 * time.Second)
		_ = d.start() // what it says of it is in its log
	}, 3 * time.Second},
	{"decider stopped for 2 s", func(f *fleet, run int) {
		d := f.deciders[run%len(f.deciders)]
		d.signal(syscall.SIGSTOP)
		time.Sleep(2 * time.Second)
		d.signal(syscall.SIGCONT)
	}, 3 * time.Second},
	{"decider drained", func(f *fleet, run int) {
		d := f.deciders[run%len(f.deciders)]
		d.end(syscall.SIGTERM)
		time.Sleep(time.Second)
		_ = d.start()
	}, 3 * time.Second},
	{"server killed", func(f *fleet, run int) {
		s := f.servers[run%len(f.servers)]
		s.end(syscall.SIGKILL)
		time.Sleep(5 * time.Second)
		_ = s.start()
	}, 20 * time.Second},
	{"server stopped for 5 s", func(f *fleet, run int) {
		s := f.servers[run%len(f.servers)]
		s.signal(syscall.SIGSTOP)
		time.Sleep(5 * time.Second)
		s.signal(syscall.SIGCONT)
	}, 20 * time.Second},
	{"server restarted", func(f *fleet, run int) {
		s := f.servers[run%len(f.servers)]
		s.end(syscall.SIGTERM)
		_ = s.start()
	}, 15 * time.Second},
}

func run(workers int, rate float64, servers, deciders, runs int, only string) error {
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	f, err := startFleet(dir, servers, deciders)
	if err != nil {
		return err
	}
	defer f.close()
	l, err := startLoad(strings.Join(f.urls, ","), workers, rate)
	if err != nil {
		return err
	}
	defer l.close()
	for begun := time.Now(); l.decided() < workers; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			return fmt.Errorf("after two minutes %d of %d queues have a decision; see the logs in %s", l.decided(), workers, dir)
		}
	}
	time.Sleep(pause)
	fmt.Printf("%d workers, %g records a second each, %d servers, %d deciders\n", workers, rate, servers, deciders)
	fmt.Printf("| fault | runs | longest wait of a record, min / median / max |\n|---|---|---|\n")
	for _, fault := range faults {
		if only != "" && !slices.Contains(strings.Split(only, ","), fault.name) {
			continue
		}
		var waits []time.Duration
		for run := range runs {
			l.worst()
			end := time.Now().Add(fault.window)
			fault.do(f, run)
			time.Sleep(time.Until(end))
			waits = append(waits, l.worst())
			time.Sleep(pause)
		}
		slices.Sort(waits)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Printf("| %s | %d | %.1f / %.1f / %.1f ms |\n", fault.name, runs, ms(waits[0]), ms(waits[len(waits)/2]), ms(waits[len(waits)-1]))
	}
	return check(strings.Join(f.urls, ","), l)
}

// check reads the whole stream: each queue's decisions follow each other, none is there twice, and
// inputs never go back.
func check(urls string, l *load) error {
	cfg := natsio.DefaultConfig()
	cfg.URL = urls
	conn, err := natsio.Connect(cfg)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		return err
	}
	var checker audit.Checker
	err = decided.Read(ctx, conn, func(m decided.Message) error {
		if m.Err != nil {
			return m.Err
		}
		d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
		if err == nil {
			checker.Take(m.Sequence, d)
		}
		return err
	})
	report := checker.Report()
	stale := 0
	for _, q := range l.queues {
		q.mu.Lock()
		stale += q.stale
		q.mu.Unlock()
	}
	report.Print(os.Stdout, func(s string) string { return s })
	fmt.Printf("%d recommendations came late or twice, %d records were not sent\n", stale, l.unsent.Load())
	if err == nil && report.HoleCount > 0 {
		err = errors.New("the stream is not what it has to be")
	}
	return err
}
