package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complaintPause is the least time between two warnings about launch reports
// that the tuner refuses: whoever sends one sends many.
const complaintPause = 10 * time.Second

// rivalPause is the same for warnings about a second process of a worker.
const rivalPause = time.Minute

// complaints bounds the warnings of one kind.
type complaints struct {
	mu         sync.Mutex
	next       time.Time
	suppressed uint64
}

// due says whether to warn now, and of how many warnings that were suppressed.
func (c *complaints) due(pause time.Duration) (suppressed uint64, now bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := time.Now()
	if at.Before(c.next) {
		c.suppressed++
		return 0, false
	}
	suppressed = c.suppressed
	c.next, c.suppressed = at.Add(pause), 0
	return suppressed, true
}

// untuned counts a launch report that the tuner refused, and warns of it, unless it came
// from a worker of this process: that is no more than an odd reading of its own clock.
func (s *System) untuned(f *family, reason error) {
	s.reportsUntuned.Add(1)
	suppressed, now := s.complaints.due(complaintPause)
	if !now {
		return
	}
	level := slog.LevelWarn
	if f.device.view.Load().local {
		level = slog.LevelInfo
	}
	s.cfg.Logger.Log(context.Background(), level, "launch report is not used for tuning", "worker", f.device.name, "queue", f.name,
		"reason", reason, "suppressed", suppressed)
}

// rival warns that another process announces itself under the name of a worker of this
// process. Nothing here can tell which of the two is meant to serve.
func (s *System) rival(worker string, incarnation uint64) {
	if suppressed, now := s.rivals.due(rivalPause); now {
		s.cfg.Logger.Error("another process announces itself as this worker: both take its work, its data and its requests; "+
			"stop one of them or give it another name", "worker", worker, "incarnation", incarnation, "suppressed", suppressed)
	}
}
