// Command fleet measures what faults cost a fleet: several nats-server processes that keep the
// stream of decisions together, several processes that decide, and simulated workers whose queues
// report their load. It kills, stops and restarts them, and prints for each kind of fault how long
// a record waited for its decision, and what the stream has at the end: decisions that were made
// twice, or inputs that went back. docs/reliability.md has its table.
//
//	go run ./bench/fleet --workers 1000 --runs 20
//	go run ./bench/fleet --namespaces --workers 1000 --rate 1
//	go run ./bench/fleet --flood 1000 --workers 10 --rate 50 --servers 1 --deciders 1
//	go run ./bench/fleet --steady 10s --core 1 --workers 1000 --rate 100 --servers 1 --deciders 1
//	go run ./bench/fleet --crashes 20
//	go run ./bench/fleet --adapter 10000,30000,100000 --workers 1000 --servers 1 --deciders 0
//	go run ./bench/fleet --pool 0,1
//
// The second line has faults of the network instead, the third a neighbour that floods the bus, the
// fourth no fault at all, to see what one core carries, the fifth kills a worker with a device that
// has batches in hand, the sixth measures what ringmaster adapt fpm costs and how long a message
// takes through it, and the last has workers with a device each share the work of a pool.
//
// The programs are built from the source that it runs in, unless --ringmaster and --nats-server name some.
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

// options are the flags.
type options struct {
	programs
	workers           int
	rate              float64
	servers, deciders int
	runs, flood       int
	steady            time.Duration
	batch, core       int
	apart             bool
	faults            string
	crashes           int
	adapter, pool     string
}

func main() {
	var o options
	flag.StringVar(&o.ringmaster, "ringmaster", "", "a ringmaster to run, with OpenGL for --crashes and --pool; built if empty")
	flag.StringVar(&o.server, "nats-server", "", "a nats-server to run; built if empty")
	flag.IntVar(&o.workers, "workers", 100, "simulated workers, of one queue each")
	flag.Float64Var(&o.rate, "rate", 10, "records of a queue a second")
	flag.IntVar(&o.servers, "servers", 3, "nats-server processes")
	flag.IntVar(&o.deciders, "deciders", 3, "processes that decide")
	flag.IntVar(&o.runs, "runs", 5, "times of each fault, or turns of a comparison")
	flag.IntVar(&o.flood, "flood", 0, "instead of faults: a neighbour that sends so many records a second, each of another queue")
	flag.DurationVar(&o.steady, "steady", 0, "instead of faults: how long the load is looked at without one")
	flag.IntVar(&o.batch, "batch", 1, "records of a queue in each payload")
	flag.IntVar(&o.core, "core", -1, "a core that the deciders, or the adapter, keep to, one thread each; negative: any")
	flag.BoolVar(&o.apart, "namespaces", false, "a network namespace for each server, and faults of the network instead of those of processes (root only)")
	flag.StringVar(&o.faults, "faults", "", "names of the faults, separated by commas; all if empty")
	flag.IntVar(&o.crashes, "crashes", 0, "instead of all that: times that a worker with a device is killed with batches in hand")
	flag.StringVar(&o.adapter, "adapter", "", "instead of all that: messages a second, separated by commas, that engines of so many workers send to ringmaster adapt fpm")
	flag.StringVar(&o.pool, "pool", "", "instead of all that: devices, separated by commas, as ringmaster run --device has them, whose workers share the work of a pool; workers share a device that is named twice")
	flag.Parse()
	mode := run
	switch {
	case o.crashes > 0:
		mode = crashes
	case o.adapter != "":
		mode = adapter
	case o.pool != "":
		mode = pools
	}
	if err := mode(o); err != nil {
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

// networkFaults happen to servers that are apart.
var networkFaults = []fault{
	{"none", func(*fleet, int) {}, 3 * time.Second},
	{"server cut off for 8 s", func(f *fleet, run int) { f.loses(run, "", 8*time.Second) }, 20 * time.Second},
	{"server cut off from its peers for 8 s", func(f *fleet, run int) {
		f.loses(run, "ip saddr "+subnet+"10-"+subnet+"250", 8*time.Second)
	}, 20 * time.Second},
	{"5 % of what a server is sent lost for 10 s", func(f *fleet, run int) { f.loses(run, "numgen random mod 100 < 5", 10*time.Second) }, 15 * time.Second},
	{"30 % of what a server is sent lost for 10 s", func(f *fleet, run int) { f.loses(run, "numgen random mod 100 < 30", 10*time.Second) }, 15 * time.Second},
}

// loses has a server lose what a rule matches, for a time.
func (f *fleet) loses(run int, rule string, during time.Duration) {
	server := run % len(f.servers)
	if err := f.net.lose(server, rule); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
	}
	time.Sleep(during)
	if err := f.net.heal(server); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
	}
}

func run(o options) error {
	dir, err := os.MkdirTemp("", "fleet-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var bound []string
	if o.flood == 0 { // a neighbour meets the usual bound of queues
		bound = []string{"--max-queues", "100000"}
	}
	f, err := startFleet(dir, o, bound...)
	if err != nil {
		return err
	}
	defer f.close()
	l, err := startLoad(strings.Join(f.urls, ","), o.workers, o.rate, o.batch)
	if err != nil {
		return err
	}
	defer l.close()
	for begun := time.Now(); l.decided() < o.workers; time.Sleep(100 * time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			return fmt.Errorf("after two minutes %d of %d queues have a decision; see the logs in %s", l.decided(), o.workers, keep(dir))
		}
	}
	time.Sleep(pause)
	fmt.Printf("%d workers, %g records a second each, %d in a payload, %d servers, %d deciders\n", o.workers, o.rate, o.batch, o.servers, o.deciders)
	switch {
	case o.flood > 0:
		err = f.flood(l, o.flood, o.runs)
	case o.steady > 0:
		err = f.steady(l, o.steady)
	default:
		err = f.faults(l, o.runs, o.faults)
	}
	if err != nil {
		return err
	}
	return check(strings.Join(f.urls, ","), l)
}

// faults has each kind of fault happen, and prints what it cost.
func (f *fleet) faults(l *load, runs int, only string) error {
	fmt.Printf("| fault | runs | longest wait of a record, min / median / max |\n|---|---|---|\n")
	of := faults
	if f.net != nil {
		of = networkFaults
	}
	for _, fault := range of {
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
		fmt.Printf("| %s | %d | %.1f / %.1f / %.1f ms |\n", fault.name, runs, ms(waits[0]), ms(waits[len(waits)/2]), ms(waits[len(waits)-1]))
	}
	return nil
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
	checker := audit.Checker{Removed: func(worker, queue string, sequence uint64) (bool, error) {
		return decided.Removed(ctx, conn, worker, queue, sequence)
	}}
	err = decided.Read(ctx, conn, func(m decided.Message) error {
		if m.Err != nil {
			return m.Err
		}
		d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
		if err != nil {
			return err
		}
		return checker.Take(m.Sequence, d)
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
