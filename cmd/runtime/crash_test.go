package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

// A process that decides is killed 40 times while it writes the decisions of five queues, 200 in all, after none
// of the five was heard, after one, and so on. The publisher repeats a record that has no answer: it was lost with
// the process, or its decision was stored and nobody heard of it. In the stream are the decisions of the run
// without kills, each from the same request and state.
func TestKilledWhileItWritesDecisionsChangesNone(t *testing.T) {
	const rounds, queues = 40, 5
	course := func(kills bool) map[string][]*decisionlog.Decided {
		url := serverOf(t)
		n := decider(t, url)
		p := publisherOn(t, url)
		p.announce()
		for round := range rounds {
			waits := make(map[string]uint64) // for the decision of a record
			for q := range queues {
				queue := fmt.Sprintf("q%d", q)
				waits[queue] = p.report(queue, courseOf(round+q))
			}
			if kills {
				p.hearUntil(waits, queues-round%(queues+1))
				n.kill()
				n = decider(t, url)
				for queue, seq := range waits {
					p.repeat(queue, seq, courseOf(round+int(queue[1]-'0')))
				}
			}
			p.hearUntil(waits, 0)
		}
		stored := p.stored()
		if got := ringmaster(t, t.Context(), "", "audit", "--nats", url); got.code != 0 || !strings.Contains(got.stdout, "none was made twice, none is missing") {
			t.Errorf("kills %t: the audit says %+v", kills, got)
		}
		return stored
	}
	want, got := course(false), course(true)
	held := 0
	for q := range queues {
		queue := fmt.Sprintf("q%d", q)
		if len(want[queue]) != rounds || len(got[queue]) != rounds {
			t.Fatalf("queue %s has %d decisions, with kills %d, want %d", queue, len(want[queue]), len(got[queue]), rounds)
		}
		for i := range want[queue] {
			a, b := want[queue][i].Entry, got[queue][i].Entry
			a.Request.OtherQueues, b.Request.OtherQueues = 0, 0 // those with work in the last second, by the clock
			if d := decisionlog.Diff(&a, &b); len(d) > 0 {
				t.Errorf("queue %s, decision %d: without kills, with kills: %+v", queue, i+1, d)
			}
			if plan := want[queue][i].Entry.Plan; plan.Topology != plan.RawTopology {
				held++
			}
		}
	}
	if held == 0 {
		t.Error("hysteresis held nothing, so nothing could be forgotten")
	}
}

// Three servers keep the stream of decisions together, each with a process that decides. The server that leads the
// stream hangs and goes on, then the process that decides does: others go on with the next numbers, and what wakes
// decides nothing twice. The publisher repeats what has no answer every second: a process whose server hung has not
// heard all records, and may be the one that decides as soon as it has another server.
func TestDecisionsGoOnWithoutAServerThatHangs(t *testing.T) {
	t.Parallel() // it waits for an election most of its time
	servers, urls := natstest.Cluster(t)
	var nodes []*node
	for _, s := range servers {
		nodes = append(nodes, decider(t, s.URL))
	}
	leader := servers[streamLeader(t, urls)]
	var elsewhere []string // the publisher is at none that will hang
	for _, s := range servers {
		if s != leader {
			elsewhere = append(elsewhere, s.URL)
		}
	}
	p := publisherOn(t, elsewhere[0])
	p.announce()
	const queues, each = 5, 8
	rounds := 0
	play := func() {
		for range each {
			waits := make(map[string]uint64)
			for q := range queues {
				queue := fmt.Sprintf("q%d", q)
				waits[queue] = p.report(queue, courseOf(rounds+q))
			}
			for until := time.Now().Add(clientPatience); !p.hears(waits, 0, time.Second); {
				if time.Now().After(until) {
					t.Fatalf("these records have no answer: %v", waits)
				}
				for queue, seq := range waits {
					p.repeat(queue, seq, courseOf(rounds+int(queue[1]-'0')))
				}
			}
			rounds++
		}
	}
	play()
	leader.Stop()
	play()
	leader.Continue()
	play()
	last := p.stored()["q0"]
	owner := nodes[slices.IndexFunc(nodes, func(n *node) bool { return decisionlog.ID(n.id) == last[len(last)-1].Node })]
	owner.signal(syscall.SIGSTOP)
	play()
	owner.signal(syscall.SIGCONT)
	play()
	for queue, all := range p.stored() {
		if n := len(all); queue != "first" && n != rounds {
			t.Errorf("queue %s has %d decisions of %d records", queue, n, rounds)
		}
	}
	got := ringmaster(t, t.Context(), "", "audit", "--nats", elsewhere[0])
	for attempt := 1; strings.Contains(got.err, "temporarily unavailable") && p.Pause(t.Context(), attempt); attempt++ {
		got = ringmaster(t, t.Context(), "", "audit", "--nats", elsewhere[0])
	}
	if got.code != 0 {
		t.Errorf("the audit says %+v", got)
	}
}

// streamLeader names the server that leads the stream of decisions.
func streamLeader(t *testing.T, urls string) string {
	t.Helper()
	conn := bustest.Dial(t, urls)
	stream, err := conn.JetStream().Stream(t.Context(), "RINGMASTER_DECIDED")
	if err != nil {
		t.Fatal(err)
	}
	info := stream.CachedInfo()
	if info.Cluster == nil || len(info.Cluster.Replicas) != 2 || info.Cluster.Leader == "" {
		t.Fatalf("the stream is kept by %+v", info.Cluster)
	}
	return info.Cluster.Leader
}

// courseOf is a course of densities that keeps hysteresis busy.
func courseOf(i int) uint16 { return uint16(1200 + 1000*(i%3) + 170*(i%7)) }

// hears hears decisions, and strikes out the records that they answer, until so many are left. It reports whether it
// has come so far within a time.
func (p *publisher) hears(waits map[string]uint64, left int, within time.Duration) bool {
	for late := time.After(within); len(waits) > left; {
		select {
		case a := <-p.advice:
			if seq, waited := waits[a.queue]; waited && a.AnsweredSeq >= seq {
				delete(waits, a.queue)
			}
		case <-late:
			return false
		}
	}
	return true
}

// hearUntil is hears for decisions that nothing keeps from coming.
func (p *publisher) hearUntil(waits map[string]uint64, left int) {
	p.t.Helper()
	if !p.hears(waits, left, clientPatience) {
		p.t.Fatalf("these records have no answer: %v", waits)
	}
}
