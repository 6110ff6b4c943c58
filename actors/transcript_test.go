package actors

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
)

var update = flag.Bool("update", false, "rewrite the outputs of the transcripts in testdata; read the difference before you keep it")

// TestTranscripts runs every script in testdata. A script is a list of
// stanzas: commands, a line "----", and what they caused. Each command runs
// until nothing moves any more, in fake time.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			var got string
			synctest.Test(t, func(t *testing.T) { got = replay(t, string(text)) })
			if *update {
				must(t, os.WriteFile(file, []byte(got), 0o644))
			}
			if got != string(text) && !*update {
				t.Errorf("transcript differs; got:\n%s", got)
			}
		})
	}
}

// replay runs a script and returns it with the outputs it really had.
func replay(t *testing.T, text string) string {
	r := newRunner(t)
	defer r.close()
	var out strings.Builder
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line != "----" {
			r.run(line)
			continue
		}
		for i+1 < len(lines) && lines[i+1] != "" {
			i++ // the output of the last recording
		}
		out.WriteString(r.take())
	}
	return out.String()
}

type runner struct {
	recorder
	t       *testing.T
	system  *System
	cfg     Config
	pub     *recordingPublisher
	engines map[string]*scriptedEngine
	quiet   bool            // do not list messages
	faults  map[string]bool // actors that panic on their next message
}

func newRunner(t *testing.T) *runner {
	r := &runner{t: t, engines: make(map[string]*scriptedEngine), faults: make(map[string]bool)}
	r.pub = &recordingPublisher{recorder: &r.recorder}
	r.cfg = DefaultConfig()
	r.cfg.Incarnation = 99
	r.cfg.Autotuner = session.Off
	r.cfg.Logger = slog.New(slog.NewTextHandler(logLines{&r.recorder}, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	r.cfg.OnDecision = func(d DecisionInput) {
		if d.Err == nil {
			r.add("state", "%s/%s decision %d: %s -> %s", d.Worker, d.Queue, d.Decision, stateText(d.Before), stateText(d.After))
		}
	}
	return r
}

// logLines shows the warnings of a log. Errors name the panics that a script asks for.
type logLines struct{ *recorder }

func (l logLines) Write(line []byte) (int, error) {
	if warning, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "level=WARN "); ok {
		l.add("log", "%s", warning)
	}
	return len(line), nil
}

func stateText(s policy.State) string {
	return fmt.Sprintf("(%v %dx%d %v)", s.Topology.Topology, s.Plan.WorkgroupSizeX, s.Plan.Groups, s.Plan.Mode)
}

// start makes the system on the first command, so that config commands may come before.
func (r *runner) start() *System {
	if r.system == nil {
		s, err := start(r.cfg, r.pub, tap{before: r.intercept})
		if err != nil {
			r.t.Fatal(err)
		}
		r.system = s
	}
	return r.system
}

func (r *runner) close() {
	if r.system != nil {
		r.system.Close()
	}
}

func (r *runner) intercept(actor string, m message) {
	r.mu.Lock()
	quiet, fault := r.quiet, r.faults[actor]
	delete(r.faults, actor)
	r.mu.Unlock()
	if !quiet {
		r.add(actor, "%s", messageText(m))
	}
	if fault {
		panic("scripted: " + actor)
	}
}

func messageText(m message) string {
	switch m := m.(type) {
	case *settled:
		return fmt.Sprintf("settled launch %d decision %d ok=%t", m.launch, m.decision, m.ok)
	case *halted:
		return "halted"
	case prioritized:
		return "prioritized " + m.family.name
	case forgotten:
		return "forgotten " + m.family.name
	case diffused:
		return fmt.Sprintf("diffused %v", m.byQueue)
	}
	return strings.TrimPrefix(fmt.Sprintf("%T", m), "actors.")
}

// run executes one command: a verb, positional words, and key=value pairs.
func (r *runner) run(line string) {
	words := strings.Fields(line)
	args := arguments{r.t, line, make(map[string]string), nil}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			args.named[k] = v
		} else {
			args.words = append(args.words, w)
		}
	}
	if words[0] == "config" {
		r.configure(args)
		return
	}
	s := r.start()
	switch words[0] {
	case "announce", "queue", "graph", "priority", "launch":
		r.record(s, words[0], args)
	case "attach":
		e := newScriptedEngine(&r.recorder, args.word(0))
		r.engines[args.word(0)] = e
		r.check(s.AttachEngine(args.word(0), args.limits(), 0, e))
	case "work":
		r.work(s, args)
	case "cancel":
		worker, queue := args.target()
		id := args.named["batch"]
		s.Cancel(worker, queue, id, func(found telemetry.CancelFound, slots int, err error) {
			if err != nil {
				r.add("settled", "cancel %s: %v", id, err)
				return
			}
			r.add("settled", "cancel %s: %v, %d slots", id, found, slots)
		})
	case "expire":
		worker, queue := args.target()
		r.engines[worker].expire(queue, args.named["batch"])
	case "land":
		e := r.engines[args.word(0)]
		if args.named["ns"] != "" {
			e.ns = args.number("ns")
		}
		var batches []string
		if args.named["done"] != "" {
			batches = strings.Split(args.named["done"], ",")
		}
		times := max(1, int(args.number("times")))
		for range times - 1 {
			r.check(e.land(0, 0, int(args.number("requeued")), nil, ""))
			synctest.Wait()
			r.recorder.take() // only the last one is shown
		}
		r.check(e.land(int(args.number("slots")), int(args.number("faulted")), int(args.number("requeued")), batches, args.named["fail"]))
	case "advance":
		d, err := time.ParseDuration(args.word(0))
		if err != nil {
			r.t.Fatal(err)
		}
		time.Sleep(d)
	case "panic", "script", "quiet":
		r.script(words[0], args)
	case "drain":
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			r.add("settled", "drain: %v", s.Drain(ctx))
		}()
	case "close":
		s.Close()
	case "stats":
		st := s.Stats()
		r.add("settled", "stats:%s", nonZero(reflect.ValueOf(st)))
	case "status":
		for _, q := range s.Queues() {
			stopped := map[bool]string{true: " stopped"}[q.Stopped]
			r.add("settled", "%s/%s decided=%t pending=%d%s%s", q.Worker, q.Queue, q.Decided, q.SlotsPending, nonZero(reflect.ValueOf(q.Counts)), stopped)
		}
	default:
		r.t.Fatalf("unknown command %q", line)
	}
	synctest.Wait()
}

func (r *runner) configure(a arguments) {
	for k, v := range a.named {
		switch k {
		case "queues":
			r.cfg.MaxQueues = int(a.number(k))
		case "workers":
			r.cfg.maxWorkers = int(a.number(k))
		case "failures":
			r.cfg.maxFailures = int(a.number(k))
		case "dwell":
			r.cfg.Policy.Dwell = uint8(a.number(k))
		case "pending":
			r.cfg.maxPendingSlots = int(a.number(k))
		case "tuning":
			mode, err := session.ParseMode(v)
			r.check(err)
			r.cfg.Autotuner = mode
		case "idle", "rest":
			d, err := time.ParseDuration(v)
			if err != nil {
				r.t.Fatal(err)
			}
			*map[string]*time.Duration{"idle": &r.cfg.idleAfter, "rest": &r.cfg.stopPause}[k] = d
		default:
			r.t.Fatalf("unknown setting %q", k)
		}
	}
}

// script prepares what the ports or an actor do next.
func (r *runner) script(verb string, a arguments) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if verb == "panic" {
		r.faults[a.word(0)] = true
		return
	}
	if verb == "quiet" {
		r.quiet = true
		return
	}
	r.pub.mu.Lock()
	defer r.pub.mu.Unlock()
	switch a.word(0) {
	case "done-held":
		r.pub.hold = true
	case "done-fails":
		r.pub.failDone = true
	case "done-works":
		r.pub.failDone = false
		go r.pub.release(nil)
	case "recommend-panics":
		r.pub.panics, r.pub.panicsFor = max(1, int(a.number("times"))), a.named["queue"]
	case "submit-panics", "launch-panics", "cancel-panics":
		r.engines[a.word(1)].panics = strings.TrimSuffix(a.word(0), "-panics")
	case "submit-refuses":
		r.engines[a.word(1)].refuse = errors.New("bad slot")
	case "submit-busy":
		r.engines[a.word(1)].refuse = fmt.Errorf("full: %w", ErrBusy)
	case "submit-over-quota":
		r.engines[a.word(1)].refuse = fmt.Errorf("10 pending: %w", ErrQuota)
	default:
		r.t.Fatalf("unknown script %q", a.line)
	}
}

// nonZero lists the fields of a struct that are not zero.
func nonZero(v reflect.Value) string {
	var b strings.Builder
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			b.WriteString(nonZero(f))
		case !f.IsZero():
			fmt.Fprintf(&b, " %s=%v", v.Type().Field(i).Name, f)
		}
	}
	return b.String()
}

func (r *runner) check(err error) {
	if err != nil {
		r.add("refused", "%v", err)
	}
}

func (r *runner) work(s *System, a arguments) {
	worker, queue := a.target()
	id := a.named["batch"]
	w := telemetry.Work{Batch: id, Slots: make([]telemetry.Slot, a.number("slots"))}
	s.Submit(worker, worker, queue, &w, int64(a.number("sent")), func(o telemetry.Outcome, err error) {
		names := map[telemetry.Outcome]string{
			telemetry.OutcomeDone: "done", telemetry.OutcomeDuplicate: "duplicate",
			telemetry.OutcomeRefused: "refused", telemetry.OutcomeRetry: "retry", telemetry.OutcomeBusy: "busy", telemetry.OutcomeQueueBusy: "queue busy",
		}
		if err != nil {
			r.add("settled", "batch %s %s: %s", id, names[o], strings.ReplaceAll(err.Error(), "\n", "; "))
			return
		}
		r.add("settled", "batch %s %s", id, names[o])
	})
}

// arguments of one command.
type arguments struct {
	t     *testing.T
	line  string
	named map[string]string
	words []string
}

func (a arguments) word(i int) string {
	if i >= len(a.words) {
		a.t.Fatalf("%q lacks a word", a.line)
	}
	return a.words[i]
}

func (a arguments) target() (worker, queue string) {
	worker, queue, ok := strings.Cut(a.word(0), "/")
	if !ok {
		a.t.Fatalf("%q lacks worker/queue", a.line)
	}
	return worker, queue
}

func (a arguments) number(key string) uint64 {
	v, ok := a.named[key]
	if !ok {
		return 0
	}
	n, err := strconv.ParseUint(v, 10, 64)
	if err != nil {
		a.t.Fatalf("%q: %v", a.line, err)
	}
	return n
}

func (a arguments) limits() policy.Limits {
	l := policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024}
	if a.named["x"] != "" {
		l.MaxWorkgroupSizeX = uint32(a.number("x"))
	}
	return l
}
