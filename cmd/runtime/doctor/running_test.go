package doctor

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"ringmaster/cmd/runtime/worker"
)

// well is a state of which nothing is wrong.
func well() *worker.State {
	recent := 0.25
	return &worker.State{
		Version: "1.2.3", Role: worker.RoleBoth, BeatS: 0.4, Refused: 7, Device: &worker.Capacity{Name: "NVIDIA H200"},
		Queues: []worker.Queue{{Worker: "w", Queue: "q", DecisionS: &recent, Batches: 3, Pending: 9}, {Worker: "w", Queue: "new"}}, Batches: make([]worker.Batch, 2),
	}
}

func lines(found []Finding) string {
	var b strings.Builder
	for _, f := range found {
		fmt.Fprintf(&b, "%v %s\n", f.Missing, f.Says)
	}
	return b.String()
}

func TestWhatIsSaidOfARunningWorker(t *testing.T) {
	const all = `false version 1.2.3, decides and executes
false device: NVIDIA H200
false main loop: turned 0.4 s ago
false decisions: of 2 queues, the newest 0.2 s ago
false backlog: 3 batches in the stream, 2 of them in hand, 9 slots not finished
false refused: 7 records since it began
`
	if got := lines(Running(well(), "1.2.3", nil)); got != all {
		t.Errorf("%s", got)
	}
	for _, c := range []struct {
		says string
		with func(*worker.State) error
	}{
		{"false version 2, decides and executes; this is version 1.2.3", func(s *worker.State) error { s.Version = "2"; return nil }},
		{"false warning: device: llvmpipe, a software renderer", func(s *worker.State) error { s.Device = &worker.Capacity{Name: "llvmpipe", Software: true}; return nil }},
		{"true another device", func(*worker.State) error { return errors.New("another device") }},
		{"false device: none", func(s *worker.State) error { s.Device = nil; return nil }},
		{"true NATS does not answer", func(s *worker.State) error { s.Wrong = []string{"NATS does not answer"}; return nil }},
		{"false warning: w.q: no room", func(s *worker.State) error { s.Queues[0].Why = "no room"; return nil }},
		{"false warning: w.q: stopped after launches that failed in a row: lost", func(s *worker.State) error {
			s.Queues[0].Halted, s.Queues[0].Why = true, "lost"
			return nil
		}},
		{"false decisions: none of 0 queues", func(s *worker.State) error { s.Queues = nil; return nil }},
		{"false warning: and 12 queues more with something wrong", func(s *worker.State) error {
			for range 20 {
				s.Queues = append(s.Queues, worker.Queue{Why: "x"})
			}
			return nil
		}},
	} {
		s := well()
		if got := lines(Running(s, "1.2.3", c.with(s))); !strings.Contains(got, c.says+"\n") && !strings.Contains(got, c.says+";") {
			t.Errorf("no %q in\n%s", c.says, got)
		}
	}
}

// The answer comes from the bus.
func TestAnAnswerOfOthersIsHarmless(t *testing.T) {
	const evil = "a\x1b[2J\n"
	never := math.Inf(1)
	s := &worker.State{
		Version: evil, Role: evil, BeatS: math.NaN(), Wrong: []string{evil}, LeftOut: -3, NotListed: -3, Device: &worker.Capacity{Name: evil},
		Queues: []worker.Queue{{Worker: evil, Queue: evil, Why: evil, DecisionS: &never, Halted: true}},
	}
	for _, f := range Running(s, "1", nil) {
		if strings.ContainsFunc(f.Says, unicode.IsControl) {
			t.Errorf("%q", f.Says)
		}
	}
}
