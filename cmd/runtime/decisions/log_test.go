package decisions

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry/decisionlog"
)

// must ends a test in which something has failed that it does not prove. Tests of rapid are tests, too.
func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var quietLog = slog.New(slog.DiscardHandler)

func testHeader() *decisionlog.Header {
	return &decisionlog.Header{Incarnation: 7, Software: "test", Config: policy.Standard()}
}

// decideMany makes n decisions of one queue under the standard policy. Their
// densities wander, so that topologies switch and are held.
func decideMany(worker, queue string, n int) (entries []decisionlog.Entry) {
	cfg := policy.Standard()
	var state policy.State
	for i := range n {
		e := decisionlog.Entry{
			Worker: worker, Queue: queue, Decision: uint64(i + 1), Before: state,
			Records: decisionlog.Records{Incarnation: 9, First: uint64(i + 1), Last: uint64(i + 1), SentNs: int64(i + 1)},
			Request: policy.Request{
				QueueLen: uint32(i*37%5000 + 1), GraphNodeCount: 100_000, FrontierDensityBps: uint16(i * 1_234 % 10_000),
				Limits: policy.Limits{MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 256, SubgroupSize: 32},
			},
		}
		plan, after, err := policy.Decide(&cfg, &e.Request, e.Before)
		if err != nil {
			panic(err)
		}
		e.Plan, e.After, state = plan, after, after
		entries = append(entries, e)
	}
	return entries
}

// writeLog writes a decision log file.
func writeLog(t *testing.T, entries ...decisionlog.Entry) (path string) {
	t.Helper()
	section := decisionlog.NewSection(testHeader())
	log := section.AppendHeader(nil)
	for i := range entries {
		log = section.Append(log, &entries[i])
	}
	path = filepath.Join(t.TempDir(), "decisions.log")
	must(t, os.WriteFile(path, log, 0o600))
	return path
}

// readAll reads what is whole in a log.
func readAll(t *testing.T, path string) (entries []decisionlog.Entry) {
	t.Helper()
	log := FromFile(path, nil)
	defer log.Close()
	for {
		var e decisionlog.Entry
		err := log.next(&e)
		if err == io.EOF {
			return entries
		}
		must(t, err)
		entries = append(entries, e)
	}
}

// heldSink keeps every batch, and lets the log wait for it.
type heldSink struct {
	mu      sync.Mutex
	log     bytes.Buffer
	entered chan struct{} // a write has begun
	release chan error    // what the write returns
	closed  bool
}

func newHeldSink() *heldSink {
	return &heldSink{entered: make(chan struct{}), release: make(chan error)}
}

func (s *heldSink) write(log []byte, _ int) error {
	s.entered <- struct{}{}
	err := <-s.release
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.log.Write(log)
	}
	return err
}

func (s *heldSink) close() error { s.closed = true; return nil }

func TestOverloadedDecisionLogDropsAndCounts(t *testing.T) {
	sink, messages := newHeldSink(), new(texttest.Log)
	l := newLog(sink, testHeader(), slog.New(slog.NewTextHandler(messages, nil)))
	e := decideMany("w", "q", 1)[0]
	l.add(&e)
	<-sink.entered // the goroutine is stuck in the sink from here on
	const extra = 100
	for range maxPending + extra {
		e.Decision++
		l.add(&e) // would not return if it waited for the sink
	}
	if got := l.dropped.Load(); got != extra {
		t.Errorf("%d dropped, want %d", got, extra)
	}
	sink.release <- nil
	closed := make(chan error, 1)
	go func() { closed <- l.Close(context.Background()) }()
	for open := true; open; {
		select {
		case <-sink.entered:
			sink.release <- nil
		case err := <-closed:
			if err != nil {
				t.Error(err)
			}
			open = false
		}
	}
	if l.written.Load() != maxPending+1 || !sink.closed {
		t.Errorf("%d written, sink closed: %t", l.written.Load(), sink.closed)
	}
	if !strings.Contains(messages.String(), "dropped=100") {
		t.Errorf("the log says nothing of the drops: %s", messages)
	}
	l.add(&e)
	if l.dropped.Load() != extra+1 {
		t.Error("a decision after the end is not counted as dropped")
	}
}

func TestDecisionLogGoesOnAfterItsSinkFailed(t *testing.T) {
	sink, messages := newHeldSink(), new(texttest.Log)
	l := newLog(sink, testHeader(), slog.New(slog.NewTextHandler(messages, nil)))
	for i, result := range []error{errors.New("disk full"), errors.New("disk full"), nil} {
		e := decideMany("w", "q", i+1)[i]
		l.add(&e)
		<-sink.entered
		sink.release <- result
	}
	must(t, l.Close(context.Background()))
	if got, want := l.Stats(), (Stats{Written: 1, Dropped: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if text := messages.String(); strings.Count(text, "disk full") != 1 || !strings.Contains(text, "writing again") {
		t.Errorf("messages %s", text)
	}
	got := new(decisionlog.Entry)
	if err := decisionlog.NewReader(&sink.log).Next(got); err != nil || got.Decision != 3 {
		t.Errorf("decision %d: %v", got.Decision, err)
	}
}

func TestDecisionFileDropsItsOldestHalf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "decisions.log")
	file, err := openFile(path, minBytes)
	must(t, err)
	section := decisionlog.NewSection(testHeader())
	header := section.AppendHeader(nil)
	entries := decideMany("w", "q", 3000)
	for i := range entries {
		must(t, file.write(section.Append(bytes.Clone(header), &entries[i]), len(header)))
	}
	must(t, file.close())
	for _, part := range []string{path, rotatedName(path)} {
		info, err := os.Stat(part)
		must(t, err)
		if info.Size() > minBytes/2 || info.Mode().Perm() != 0o600 {
			t.Errorf("%s has %d bytes, mode %v", part, info.Size(), info.Mode())
		}
	}
	kept := readAll(t, path)
	if len(kept) < 500 || len(kept) >= 3000 {
		t.Fatalf("%d decisions are left", len(kept))
	}
	for i := range kept {
		if want := entries[len(entries)-len(kept)+i]; kept[i] != want {
			t.Fatalf("decision %d is in the place of %d", kept[i].Decision, want.Decision)
		}
	}
	if got := replayed(t, path, Question{}); got.code != 0 || !strings.Contains(got.stdout, "every decision replays") {
		t.Errorf("%s", got.stdout)
	}
}

func TestDecisionFileIsAppendedToByOneProcessAtATime(t *testing.T) {
	entries := decideMany("w", "q", 3)
	path := writeLog(t, entries[:2]...)
	// A process died in the middle of the second decision.
	whole, err := os.ReadFile(path)
	must(t, err)
	must(t, os.WriteFile(path, whole[:len(whole)-3], 0o600))
	file, err := openFile(path, 1<<20)
	must(t, err)
	if _, err := openFile(path, 1<<20); err == nil || !strings.Contains(err.Error(), "another process") {
		t.Errorf("a second writer: %v", err)
	}
	l := newLog(file, testHeader(), quietLog)
	l.add(&entries[2])
	must(t, l.Close(context.Background()))
	got := readAll(t, path)
	if len(got) != 2 || got[0] != entries[0] || got[1] != entries[2] {
		t.Errorf("decisions %d: %+v", len(got), got)
	}
}

func TestDecisionFileRefusesWhatItCannotAppendTo(t *testing.T) {
	if _, err := Open(Config{File: filepath.Join(t.TempDir(), "log"), MaxBytes: minBytes - 1}, 7, policy.Standard(), nil); err == nil {
		t.Error("a bound that does not hold a batch")
	}
	if _, err := openFile("/dev/null", minBytes); err == nil || !strings.Contains(err.Error(), "regular") {
		t.Errorf("/dev/null: %v", err)
	}
}

func TestRecordDoesNotAllocateOnTheActor(t *testing.T) {
	l := &Log{pending: make(chan decisionlog.Entry, 1000)}
	in := actors.DecisionInput{Worker: "w", Queue: "q", Decision: 1}
	if n := testing.AllocsPerRun(500, func() { l.Record(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
