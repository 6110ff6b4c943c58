package complaint

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Pause is the least time between two lines of one complaint about one subject.
const Pause = time.Minute

// maxSubjects bounds what a Log remembers. Beyond it all other subjects share one
// line a minute, because whoever sends records may name any number of queues.
const maxSubjects = 4096

// oweFor is for how long the number of complaints that were left out waits for the next one about its subject.
const oweFor = 10 * time.Minute

// sweepPause is the least time between two searches for subjects to forget, so that a
// flood of names does not pay for one search each.
const sweepPause = time.Second

// Log writes complaints. Its methods may be called by several goroutines.
type Log struct {
	log *slog.Logger
	*Pace
}

// Pace says when something may be told again. Its methods may be called by several goroutines.
type Pace struct {
	mu    sync.Mutex
	lines map[subject]*line
	swept time.Time // when forget last ran
}

type subject struct{ what, worker, queue string }

// line is one complaint about one subject.
type line struct {
	next       time.Time // when it may be written again
	suppressed uint64    // since it was written
}

// New returns a Log that writes to log.
func New(log *slog.Logger) *Log { return &Log{log: log, Pace: NewPace()} }

// NewPace returns a Pace by which nothing was told yet.
func NewPace() *Pace { return &Pace{lines: make(map[subject]*line)} }

// Warn logs what happened to a worker's queue, which may be empty, at WARN. what is
// the message; with attrs, which are as slog has them, it is one complaint, whatever
// the values of attrs are.
func (l *Log) Warn(what, worker, queue string, attrs ...any) {
	l.Say(slog.LevelWarn, what, worker, queue, attrs...)
}

// Say is Warn at another level.
func (l *Log) Say(level slog.Level, what, worker, queue string, attrs ...any) {
	suppressed, due := l.Due(what, worker, queue)
	if !due {
		return
	}
	all := make([]any, 0, 6+len(attrs))
	if worker != "" {
		all = append(all, "worker", worker)
	}
	if queue != "" {
		all = append(all, "queue", queue)
	}
	all = append(all, attrs...)
	if suppressed > 0 {
		all = append(all, "suppressed", suppressed)
	}
	l.log.Log(context.Background(), level, what, all...)
}

// Due says whether to tell what happened to a worker's queue now, and how often that was left out before.
func (l *Pace) Due(what, worker, queue string) (suppressed uint64, due bool) {
	return l.due(subject{what, worker, queue}, time.Now())
}

// due says whether to write a line now, and how many were left out before it.
func (l *Pace) due(s subject, now time.Time) (suppressed uint64, due bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := l.lines[s]
	if at == nil {
		if len(l.lines) >= maxSubjects && now.Sub(l.swept) >= sweepPause {
			l.forget(now)
		}
		if len(l.lines) >= maxSubjects {
			s = subject{what: s.what}
		}
		if at = l.lines[s]; at == nil {
			at = new(line)
			l.lines[s] = at
		}
	}
	if now.Before(at.next) {
		at.suppressed++
		return 0, false
	}
	suppressed = at.suppressed
	at.next, at.suppressed = now.Add(Pause), 0
	return suppressed, true
}

// forget drops the subjects that are quiet: at once those of which nothing was left out, the others after oweFor.
func (l *Pace) forget(now time.Time) {
	l.swept = now
	for s, at := range l.lines {
		quiet := now.Sub(at.next)
		if quiet >= oweFor || quiet >= 0 && at.suppressed == 0 {
			delete(l.lines, s)
		}
	}
}
