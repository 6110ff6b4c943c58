package actors

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

// reception is one actor and one type of message.
type reception struct{ actor, message string }

// receptions reads from the source which types are messages and which of them
// each actor's receive method has a case for.
func receptions(t *testing.T) (messages map[string]bool, handled map[reception]bool) {
	messages, handled = make(map[string]bool), make(map[reception]bool)
	files, err := os.ReadDir(".")
	must(t, err)
	for _, entry := range files {
		if !strings.HasSuffix(entry.Name(), ".go") || strings.HasSuffix(entry.Name(), "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), entry.Name(), nil, 0)
		must(t, err)
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv == nil {
				continue
			}
			switch of := typeName(f.Recv.List[0].Type); f.Name.Name {
			case "isMessage":
				messages[of] = true
			case "receive":
				actor := strings.TrimSuffix(of, "Actor")
				ast.Inspect(f.Body, func(n ast.Node) bool {
					if c, ok := n.(*ast.CaseClause); ok {
						for _, m := range c.List {
							handled[reception{actor, typeName(m)}] = true
						}
					}
					return true
				})
			}
		}
	}
	return messages, handled
}

func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return fmt.Sprintf("%T", e)
}

// ordeal makes every actor receive every message it knows: on a worker with an
// engine and on a remote one, with launches that work and fail, a queue that is
// stopped for them, and forgotten queues.
const ordeal = `
priority gpu0/q inc=7 seq=1 priority=5 share=50
attach gpu0 x=64
queue gpu0/q inc=7 seq=2 len=300 requeues=1 reply=inbox.1
graph gpu0/q inc=7 seq=3 nodes=10000 edges=100 density=900
work gpu0/q batch=b1 slots=1000
land gpu0 slots=100 ns=20
land gpu0 slots=100 ns=21
land gpu0 slots=100 ns=22
queue gpu0/q inc=7 seq=4 len=301 requeues=2
queue gpu0/q inc=7 seq=5 len=301
land gpu0 fail=lost
land gpu0 fail=shader
graph gpu0/q inc=7 seq=6 density=5000
work gpu0/q batch=b2 slots=10
land gpu0 slots=300
land gpu0 slots=410 done=b1,b2
graph gpu0/q inc=7 seq=7 density=3800
priority gpu0/q inc=7 seq=8 priority=9 share=10
work gpu0/other batch=c1 slots=5
land gpu0 slots=5 done=c1
announce gpu1 inc=5 seq=1
queue gpu1/r inc=7 seq=1 len=300
graph gpu1/r inc=7 seq=2 nodes=10000 edges=100 density=900
launch gpu1/r inc=5 seq=1 launch=1 decision=last executed=300 ns=1000 width=256
graph gpu1/r inc=7 seq=3 density=5000
launch gpu1/r inc=5 seq=2 launch=2 decision=last fail=lost
graph gpu1/r inc=7 seq=4 density=3800
queue gpu0/q inc=7 seq=9 len=9000 requeues=9 reply=inbox.2
advance 70s
queue gpu0/q inc=7 seq=10 len=20 requeues=9
`

// endure runs the ordeal with enough time after each step for every pause to
// end, and returns what is known after each of them: nothing in it depends on
// how often something had to be done again.
//
// With a store every fourth answer is lost, and the process hears what is stored.
func endure(t *testing.T, tap tap, stored bool) string {
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		if stored {
			store := newMemoryStore()
			store.fate = func(write int) fate { return []fate{arrives, arrives, arrives, arrivesAnswerLost}[write%4] }
			store.listener = func(worker, queue string, m *telemetry.Stored) { _ = r.system.Heard(worker, queue, m) }
			r.cfg.Store = store
		}
		r.quiet = true
		r.cfg.Autotuner, r.cfg.maxFailures, r.cfg.idleAfter = session.Reference, 2, time.Minute
		s, err := start(r.cfg, r.pub, tap)
		must(t, err)
		r.system = s
		defer r.close()
		for _, line := range strings.Split(strings.TrimSpace(ordeal), "\n") {
			r.run(line)
			r.run("advance 2500ms")
			if stored {
				s.Reconsider("")
				r.run("advance 2500ms")
			}
			fmt.Fprintf(&out, "%s\n%s", line, knowledge(r))
		}
		if st := s.Stats(); st.DeadLetters != 0 {
			t.Errorf("%d dead letters", st.DeadLetters)
		}
	})
	return out.String()
}

// knowledge is the state of every queue without its decision numbers, and what
// submitters were told.
func knowledge(r *runner) string {
	var lines []string
	r.system.mu.RLock()
	defer r.system.mu.RUnlock()
	for _, f := range r.system.roster {
		line := fmt.Sprintf("  %s/%s pending %d requeues %d of %d", f.device.name, f.name, f.pending.Load(), f.cell.requeuesDecided, f.cell.requeues)
		if s := f.latest.Load(); s != nil {
			line += fmt.Sprintf(" answers %d: len %d %v %v %dx%d %q", s.Records.Last, s.Request.QueueLen, s.Plan.Topology, s.Plan.Mode, s.Plan.WorkgroupSizeX, s.Plan.DispatchGrid[0], s.reason)
		}
		topology, plan := &f.queue.topology, &f.queue.policy
		line += fmt.Sprintf(" issued %v %v committed %v %v tuned %v", topology.Issued.State, plan.Issued.State, topology.Committed.State, plan.Committed.State, f.suggested.Load())
		if f.tuner.session != nil {
			line += fmt.Sprintf(" view %v", f.tuner.session.View())
		}
		c := f.cell.totals()
		line += fmt.Sprintf(" records %d launches %d/%d executed %d submitted %d\n", c.Records, c.FailedLaunches, c.Launches, c.SlotsExecuted, c.SlotsSubmitted)
		lines = append(lines, line)
	}
	slices.Sort(lines)
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(lines, "") + strings.Join(r.lines["settled"], "\n") + strings.Join(r.lines["refused"], "\n") + "\n"
}

// A panic at any message, before or after it was handled, leaves everything as
// it would have been: state, samples, requeues, work, and the newest records.
func TestAPanicAtAnyMessageLosesNothing(t *testing.T) {
	messages, handled := receptions(t)
	var mu sync.Mutex
	times := make(map[reception]int)
	count := tap{before: func(actor string, m message) {
		mu.Lock()
		defer mu.Unlock()
		times[reception{actor, messageType(m)}]++
	}}
	undisturbed := map[bool]string{false: endure(t, count, false), true: endure(t, count, true)}

	received := make(map[string]bool)
	for at := range handled {
		received[at.message] = true
		if times[at] == 0 {
			t.Errorf("the ordeal never makes the %s actor receive %s", at.actor, at.message)
		}
	}
	for m := range messages {
		if !received[m] {
			t.Errorf("no actor has a case for %s", m)
		}
	}
	for at := range times {
		if !handled[at] {
			t.Errorf("the %s actor receives %s and has no case for it", at.actor, at.message)
		}
	}

	for _, at := range slices.SortedFunc(maps.Keys(times), func(a, b reception) int {
		return strings.Compare(a.actor+a.message, b.actor+b.message)
	}) {
		for n := range min(times[at], 3) {
			for _, moment := range []string{"before", "after"} {
				for stored, undisturbed := range undisturbed {
					t.Run(fmt.Sprintf("%s/%s/%d/%s/%t", at.actor, at.message, n+1, moment, stored), func(t *testing.T) {
						if got := endure(t, panicAt(at, n, moment), stored); got != undisturbed {
							t.Errorf("it makes a difference:\n%s", difference(got, undisturbed))
						}
					})
				}
			}
		}
	}
}

// panicAt panics once, at the n-th reception of its kind.
func panicAt(at reception, n int, moment string) tap {
	var mu sync.Mutex
	seen := 0
	hook := func(actor string, m message) {
		if (reception{actor, messageType(m)}) != at {
			return
		}
		mu.Lock()
		seen++
		hit := seen == n+1
		mu.Unlock()
		if hit {
			panic("scripted: " + actor + " at " + at.message)
		}
	}
	if moment == "before" {
		return tap{before: hook}
	}
	return tap{after: hook}
}

func messageType(m message) string {
	return strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", m), "*"), "actors.")
}

// difference lists the lines that differ.
func difference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	var b strings.Builder
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			fmt.Fprintf(&b, "got  %s\nwant %s\n", g[i], w[i])
		}
	}
	return b.String()
}

// The pause after a panic may end while a decision is in hand. The decision is made
// once, and who asked for it is answered once.
func TestAPanicDoesNotRepeatADecisionInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRunner(t)
		retries := 0
		r.cfg.OnDecision = func(DecisionInput) {
			if retries == 0 {
				retries++
				f := r.system.roster[0]
				f.busy.Add(1) // as recover does
				f.retry()
			}
		}
		defer r.close()
		for _, line := range []string{
			"announce gpu1 inc=5 seq=1",
			"queue gpu1/r inc=7 seq=1 len=300",
			"queue gpu1/r inc=7 seq=2 len=400 requeues=3 reply=inbox.1",
			"advance 5s",
		} {
			r.run(line)
		}
		answers := 0
		for _, line := range r.lines["recommend"] {
			answers += strings.Count(line, "inbox.1")
		}
		if n := r.system.Stats().Decisions; answers != 1 || n != 2 || retries != 1 {
			t.Errorf("%d answers, %d decisions, %d retries:\n%s", answers, n, retries, strings.Join(r.lines["recommend"], "\n"))
		}
	})
}
