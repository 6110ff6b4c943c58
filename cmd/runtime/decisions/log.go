package decisions

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"ringmaster/actors"
	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

// Config says where decisions are logged. The zero value is nowhere.
type Config struct {
	File     string // is appended to
	Software string // the version of what decides, for whoever reads the log
	// MaxBytes bounds the log; its oldest half goes first. At least 1 MiB.
	MaxBytes int64
}

// Open starts a log of what a process decides by a policy, or returns nil if none is wanted.
// The error says why there cannot be one.
func Open(cfg Config, incarnation uint64, by policy.Config, log *slog.Logger) (*Log, error) {
	header := decisionlog.Header{Incarnation: decisionlog.ID(incarnation), Software: cfg.Software, Config: by}
	switch {
	case cfg.File == "":
		return nil, nil
	case cfg.MaxBytes < minBytes:
		return nil, fmt.Errorf("decision log: a bound of %d bytes is less than %d", cfg.MaxBytes, minBytes)
	}
	file, err := openFile(cfg.File, cfg.MaxBytes)
	if err != nil {
		return nil, err
	}
	return newLog(file, &header, log), nil
}

// sink stores what the goroutine of a log hands it.
type sink interface {
	// write stores log[body:], which are whole entries. log[:body] is a header, to be
	// stored before them wherever a reader may begin.
	write(log []byte, body int) error
	close() error
}

const (
	// maxPending bounds the memory of a log whose sink is slow, at
	// about 600 bytes a decision.
	maxPending = 8192
	// batchBytes is the size from which entries are written out
	// without waiting for more.
	batchBytes = 256 << 10
)

// Log takes decisions from the actors that make them and writes them
// on a goroutine of its own. It never makes an actor wait: if the sink does not
// keep up, decisions are dropped and counted, and a replay reports the gap.
type Log struct {
	sink sink
	log  *slog.Logger

	pending chan decisionlog.Entry
	quit    chan struct{}
	end     sync.Once
	done    chan struct{}
	ended   error // of closing the sink, valid after done
	written atomic.Uint64
	dropped atomic.Uint64

	// The goroutine's own.
	section *decisionlog.Section
	batch   []byte // header and entries
	body    int    // where the entries begin
	failing bool
	told    uint64 // drops that a warning named
}

func newLog(sink sink, header *decisionlog.Header, log *slog.Logger) *Log {
	l := &Log{
		sink: sink, log: log,
		pending: make(chan decisionlog.Entry, maxPending), quit: make(chan struct{}), done: make(chan struct{}),
		section: decisionlog.NewSection(header),
	}
	l.batch = l.section.AppendHeader(make([]byte, 0, batchBytes+decisionlog.MaxLine))
	l.body = len(l.batch)
	go l.run()
	return l
}

// Record takes one decision. It runs on the actor that made it.
func (l *Log) Record(in actors.DecisionInput) {
	e := in.Entry()
	l.add(&e)
}

func (l *Log) add(e *decisionlog.Entry) {
	if !l.closed() {
		select {
		case l.pending <- *e:
			return
		default:
		}
	}
	l.dropped.Add(1)
}

func (l *Log) closed() bool {
	select {
	case <-l.quit:
		return true
	default:
		return false
	}
}

// Stats counts the decisions that a log was given.
type Stats struct {
	Written uint64 `json:"written"`
	Dropped uint64 `json:"dropped"` // came faster than they could be written, or could not be stored
}

// Stats returns what has become of the decisions so far.
func (l *Log) Stats() Stats {
	return Stats{Written: l.written.Load(), Dropped: l.dropped.Load()}
}

// AddWaiting adds an entry and waits for the sink if it has to. It must not run on an actor.
func (l *Log) AddWaiting(e *decisionlog.Entry) {
	select {
	case l.pending <- *e:
	case <-l.quit:
		l.dropped.Add(1)
	}
}

// run writes what is pending until the log is closed and empty.
func (l *Log) run() {
	defer close(l.done)
	for {
		select {
		case e := <-l.pending:
			l.write(&e)
		case <-l.quit:
			for len(l.pending) > 0 {
				e := <-l.pending
				l.write(&e)
			}
			l.ended = l.sink.close()
			return
		}
	}
}

// write hands an entry to the sink, and with it those that wait behind it, as many as a batch has room for.
func (l *Log) write(e *decisionlog.Entry) {
	l.batch = l.section.Append(l.batch[:l.body], e)
	entries := 1
	for ; len(l.batch) < batchBytes && len(l.pending) > 0; entries++ {
		*e = <-l.pending
		l.batch = l.section.Append(l.batch, e)
	}
	l.count(entries, l.sink.write(l.batch, l.body))
	if n := l.dropped.Load(); !l.failing && n > 2*l.told {
		l.told = n
		l.log.Warn("decision log: decisions come faster than they are written", "dropped", n)
	}
}

// count notes whether a batch was stored, and logs when that changes.
func (l *Log) count(entries int, err error) {
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

// Close writes what is pending and ends the log. It waits 5 s at most.
func (l *Log) Close(ctx context.Context) error {
	l.end.Do(func() { close(l.quit) })
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
