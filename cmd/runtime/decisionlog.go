package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// decisionLogFlags say where decisions are logged for replay.
type decisionLogFlags struct {
	DecisionLog      string `env:"RINGMASTER_DECISION_LOG" placeholder:"FILE" help:"Log every decision for ringmaster replay, to FILE, or with 'stream' to a JetStream stream."`
	DecisionLogBytes int64  `default:"268435456" env:"RINGMASTER_DECISION_LOG_BYTES" help:"Most bytes that the decision log takes. The oldest half is dropped first: FILE is renamed to FILE.1."`
}

// startLog starts the log of a process, or returns nil if none is wanted.
func (f *decisionLogFlags) startLog(conn *natsio.Conn, cfg policy.Config, log *slog.Logger) (*decisionLog, error) {
	var out decisionSink
	switch f.DecisionLog {
	case "":
		return nil, nil
	case "stream":
		stream := natsio.DefaultDecisionStreamConfig()
		stream.MaxBytes = f.DecisionLogBytes
		w, err := conn.NewDecisionWriter(stream)
		if err != nil {
			return nil, err
		}
		out = streamSink{w}
	default:
		file, err := openDecisionFile(f.DecisionLog, f.DecisionLogBytes)
		if err != nil {
			return nil, err
		}
		out = file
	}
	header := telemetry.DecisionHeader{Incarnation: conn.Incarnation(), Software: version, Config: cfg}
	return newDecisionLog(out, &header, log), nil
}

// decisionSink stores what the goroutine of a decision log hands it.
type decisionSink interface {
	// write stores log[body:], which are whole entries. log[:body] is a header, to be
	// stored before them wherever a reader may begin.
	write(log []byte, body int) error
	close() error
}

// streamSink makes every batch a message with a header of its own.
type streamSink struct{ w *natsio.DecisionWriter }

func (s streamSink) write(log []byte, _ int) error { return s.w.Write(context.Background(), log) }
func (s streamSink) close() error                  { return nil }

const (
	// maxPendingDecisions bounds the memory of a log whose sink is slow, at
	// about 600 bytes a decision.
	maxPendingDecisions = 8192
	// decisionBatch is the size in bytes from which entries are written out
	// without waiting for more. A message has room for this and one more entry.
	decisionBatch = 256 << 10
)

// decisionLog takes decisions from the actors that make them and writes them
// on a goroutine of its own. It never makes an actor wait: if the sink does not
// keep up, decisions are dropped and counted, and a replay reports the gap.
type decisionLog struct {
	sink decisionSink
	log  *slog.Logger

	mu      sync.Mutex
	pending []telemetry.DecisionEntry
	closed  bool

	wake    chan struct{} // capacity 1: pending is no longer empty
	room    chan struct{} // capacity 1: pending was emptied
	quit    chan struct{}
	done    chan struct{}
	ended   error // of closing the sink, valid after done
	written atomic.Uint64
	dropped atomic.Uint64

	batch   []byte // header and entries; used by the goroutine only
	body    int    // where the entries begin
	failing bool
}

func newDecisionLog(sink decisionSink, header *telemetry.DecisionHeader, log *slog.Logger) *decisionLog {
	l := &decisionLog{
		sink: sink, log: log,
		wake: make(chan struct{}, 1), room: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
		batch: telemetry.AppendDecisionHeader(make([]byte, 0, decisionBatch+telemetry.MaxDecisionBytes), header),
	}
	l.body = len(l.batch)
	go l.run()
	return l
}

// record takes one decision. It runs on the actor that made it.
func (l *decisionLog) record(in actors.DecisionInput) {
	e := telemetry.DecisionEntry{
		Worker: in.Worker, Queue: in.Queue, Decision: in.Decision,
		Records: telemetry.DecisionRecords{
			Incarnation: in.Records.Incarnation, First: in.Records.First, Last: in.Records.Last, SentNs: in.Records.SentNs,
		},
		Request: in.Request, Before: in.Before, Plan: in.Plan, After: in.After,
	}
	if in.Err != nil {
		e.Error = in.Err.Error()
		e.Undecided = errors.Is(in.Err, actors.ErrNoLimits)
	}
	l.add(&e)
}

func (l *decisionLog) add(e *telemetry.DecisionEntry) {
	if !l.offer(e) {
		l.dropped.Add(1)
	}
}

// addPatiently adds an entry and may wait for the sink.
func (l *decisionLog) addPatiently(e *telemetry.DecisionEntry) {
	for !l.offer(e) {
		select {
		case <-l.room:
		case <-l.quit:
			l.dropped.Add(1)
			return
		}
	}
}

// offer takes an entry if there is room.
func (l *decisionLog) offer(e *telemetry.DecisionEntry) bool {
	l.mu.Lock()
	full := l.closed || len(l.pending) >= maxPendingDecisions
	if !full {
		l.pending = append(l.pending, *e)
	}
	l.mu.Unlock()
	if !full {
		nudge(l.wake)
	}
	return !full
}

func nudge(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// run writes what is pending until the log is closed and empty.
func (l *decisionLog) run() {
	defer close(l.done)
	var taken []telemetry.DecisionEntry
	var told uint64 // drops reported last
	for open := true; open; {
		select {
		case <-l.wake:
		case <-l.quit:
			open = false
		}
		l.mu.Lock()
		taken, l.pending = l.pending, taken[:0]
		l.mu.Unlock()
		nudge(l.room)
		l.write(taken)
		if n := l.dropped.Load(); !l.failing && n > 2*told {
			told = n
			l.log.Warn("decision log: decisions come faster than they are written", "dropped", n)
		}
	}
	l.ended = l.sink.close()
}

// write encodes entries and hands them to the sink in batches.
func (l *decisionLog) write(entries []telemetry.DecisionEntry) {
	inBatch := 0
	for i := range entries {
		l.batch = telemetry.AppendDecision(l.batch, &entries[i])
		inBatch++
		if len(l.batch) < decisionBatch && i < len(entries)-1 {
			continue
		}
		err := l.sink.write(l.batch, l.body)
		l.batch = l.batch[:l.body]
		l.count(inBatch, err)
		inBatch = 0
	}
}

// count notes whether a batch was stored, and logs when that changes.
func (l *decisionLog) count(entries int, err error) {
	if err == nil {
		l.written.Add(uint64(entries))
		if l.failing {
			l.log.Info("decision log: writing again", "dropped", l.dropped.Load())
		}
	} else {
		l.dropped.Add(uint64(entries))
		if !l.failing {
			l.log.Warn("decision log: decisions are not logged", "error", err)
		}
	}
	l.failing = err != nil
}

// closePatience bounds how long close waits for the sink.
const closePatience = 5 * time.Second

// close writes what is pending and ends the log.
func (l *decisionLog) close(ctx context.Context) error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if !again {
		close(l.quit)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closePatience)
	defer cancel()
	select {
	case <-l.done:
	case <-ctx.Done():
		return errors.New("decision log: the last decisions could not be written in time")
	}
	if dropped := l.dropped.Load(); dropped > 0 {
		l.log.Warn("decision log: incomplete", "written", l.written.Load(), "dropped", dropped)
	}
	return l.ended
}
