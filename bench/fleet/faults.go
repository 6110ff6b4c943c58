package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"ringmaster/telemetry/natsio/decided"
)

// fault is something that goes wrong, and how it is made good again.
type fault struct {
	name string
	do   func(f *fleet, run int)
	// window is how long its effect is looked for.
	window time.Duration
	// rare is set where a quarter of the runs will do.
	rare bool
}

// processFaults happen to processes. The leader is the server that leads the stream of decisions.
var processFaults = []fault{
	{"none", func(*fleet, int) {}, 3 * time.Second, true},
	{"decider killed", func(f *fleet, run int) { f.deciders[run%len(f.deciders)].away(syscall.SIGKILL, 2*time.Second) }, 3 * time.Second, false},
	{"decider stopped for 2 s", func(f *fleet, run int) { f.deciders[run%len(f.deciders)].hangs(2 * time.Second) }, 3 * time.Second, false},
	{"decider drained", func(f *fleet, run int) { f.deciders[run%len(f.deciders)].away(syscall.SIGTERM, time.Second) }, 3 * time.Second, false},
	{"leader killed", func(f *fleet, run int) { f.leader(run).away(syscall.SIGKILL, 5*time.Second) }, 20 * time.Second, false},
	{"leader stopped for 5 s", func(f *fleet, run int) { f.leader(run).hangs(5 * time.Second) }, 20 * time.Second, false},
	{"server restarted", func(f *fleet, run int) { f.servers[run%len(f.servers)].away(syscall.SIGTERM, 0) }, 15 * time.Second, true},
}

// diskFaults happen to the disks of servers.
var diskFaults = []fault{
	{"disk of the leader full for 5 s", func(f *fleet, run int) { f.full(5*time.Second, f.leader(run)) }, 20 * time.Second, true},
	{"disks of all servers full for 5 s", func(f *fleet, _ int) { f.full(5*time.Second, f.servers...) }, 45 * time.Second, true},
}

// networkFaults happen to servers that are apart.
var networkFaults = []fault{
	{"none", func(*fleet, int) {}, 3 * time.Second, true},
	{"server cut off for 8 s", func(f *fleet, run int) { f.loses(run, "", 8*time.Second) }, 20 * time.Second, false},
	{"server cut off from its peers for 8 s", func(f *fleet, run int) {
		f.loses(run, "ip saddr "+subnet+"10-"+subnet+"250", 8*time.Second)
	}, 20 * time.Second, false},
	{"5 % of what a server is sent lost for 10 s", func(f *fleet, run int) { f.loses(run, "numgen random mod 100 < 5", 10*time.Second) }, 15 * time.Second, false},
	{"30 % of what a server is sent lost for 10 s", func(f *fleet, run int) { f.loses(run, "numgen random mod 100 < 30", 10*time.Second) }, 15 * time.Second, false},
}

// faults has each kind of fault happen, and prints the table of docs/reliability.md. It fails if batches that were
// acknowledged were lost or ran twice.
func (f *fleet) faults(l *load, s *stream, o options) error {
	w, err := f.startWork()
	if err != nil {
		return fmt.Errorf("%w; see the logs in %s", err, keep(f.dir))
	}
	defer w.close()
	of := processFaults
	if f.net != nil {
		of = networkFaults
	}
	if f.disks != nil {
		of = slices.Concat(of, diskFaults)
	}
	fmt.Println("| fault | runs | batches acknowledged / lost / run twice | decisions / made twice, missing or from older records | longest wait of a record, min / median / max | longest time of a batch, min / median / max |")
	fmt.Println("|---|---|---|---|---|---|")
	var broken worked
	for _, fault := range of {
		if o.faults != "" && !slices.Contains(strings.Split(o.faults, ","), fault.name) {
			continue
		}
		runs := o.runs
		if fault.rare {
			runs = (runs + 3) / 4
		}
		var records, batches []time.Duration
		w.begin()
		for run := range runs {
			l.worst()
			w.worst()
			end := time.Now().Add(fault.window)
			fault.do(f, run)
			time.Sleep(time.Until(end))
			records, batches = append(records, l.worst()), append(batches, w.worst())
			time.Sleep(pause)
		}
		w.end()
		became, err := w.count()
		if err != nil {
			return err
		}
		decisions, holes, err := s.read()
		if err != nil {
			return err
		}
		fmt.Printf("| %s | %d | %d / %d / %d | %d / %d | %s | %s |\n", fault.name, runs, became.acknowledged, became.lost, became.twice,
			decisions, holes, spread(records), spread(batches))
		broken.lost, broken.twice = broken.lost+became.lost, broken.twice+became.twice
	}
	if broken.lost > 0 || broken.twice > 0 {
		return fmt.Errorf("%d batches were lost, %d ran twice; see the logs in %s", broken.lost, broken.twice, keep(f.dir))
	}
	return nil
}

// away ends the process by a signal and starts it again after a time. What it says of that is in its log.
func (p *process) away(by syscall.Signal, during time.Duration) {
	p.end(by)
	time.Sleep(during)
	_ = p.start()
}

// hangs stops the process for a time.
func (p *process) hangs(during time.Duration) {
	p.signal(syscall.SIGSTOP)
	time.Sleep(during)
	p.signal(syscall.SIGCONT)
}

// leader is the server that leads the stream of decisions, or one by turns if nobody knows.
func (f *fleet) leader(run int) *process {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	stream, err := f.conn.JetStream().Stream(ctx, decided.StreamName(f.conn.Subjects()))
	if err == nil && stream.CachedInfo().Cluster != nil {
		if i, err := strconv.Atoi(strings.TrimPrefix(stream.CachedInfo().Cluster.Leader, "s")); err == nil && i < len(f.servers) {
			return f.servers[i]
		}
	}
	return f.servers[run%len(f.servers)]
}

// loses has a server lose what a rule matches, for a time.
func (f *fleet) loses(run int, rule string, during time.Duration) {
	server := run % len(f.servers)
	complain(f.net.lose(server, rule))
	time.Sleep(during)
	complain(f.net.heal(server))
}

// full has the disks of servers full for a time. Then the servers are started again, as who makes room has to: one whose
// stream could not write has JetStream disabled until its end.
func (f *fleet) full(during time.Duration, servers ...*process) {
	for _, s := range servers {
		complain(f.disks[slices.Index(f.servers, s)].fill())
	}
	time.Sleep(during)
	for _, s := range servers {
		complain(f.disks[slices.Index(f.servers, s)].free())
	}
	for _, s := range servers {
		s.signal(syscall.SIGTERM)
	}
	for _, s := range servers {
		<-s.done
		_ = s.start()
	}
}

func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
	}
}
