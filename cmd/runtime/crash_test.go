package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry/decisionlog"
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

// courseOf is a course of densities that keeps hysteresis busy.
func courseOf(i int) uint16 { return uint16(1200 + 1000*(i%3) + 170*(i%7)) }

// hearUntil hears decisions, and strikes out the records that they answer, until so many are left.
func (p *publisher) hearUntil(waits map[string]uint64, left int) {
	p.t.Helper()
	for patience := time.After(clientPatience); len(waits) > left; {
		select {
		case a := <-p.advice:
			if seq, waited := waits[a.queue]; waited && a.AnsweredSeq >= seq {
				delete(waits, a.queue)
			}
		case <-patience:
			p.t.Fatalf("these records have no answer: %v", waits)
		}
	}
}
