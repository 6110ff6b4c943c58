package actors

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// complaintPause is the least time between two warnings about launch reports
// that teach the tuner nothing: whoever sends one sends many.
const complaintPause = 10 * time.Second

// complaints bounds the warnings of a system.
type complaints struct {
	mu         sync.Mutex
	next       time.Time
	suppressed uint64
}

// untuned counts a launch report that the tuner refused, and warns of it. That of a worker
// of this process is no more than an odd reading of its own clock.
func (s *System) untuned(f *family, reason error) {
	s.reportsUntuned.Add(1)
	c := &s.complaints
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if now.Before(c.next) {
		c.suppressed++
		return
	}
	level := slog.LevelWarn
	if f.device.view.Load().local {
		level = slog.LevelInfo
	}
	s.cfg.Logger.Log(context.Background(), level, "launch report is not used for tuning", "worker", f.device.name, "queue", f.name,
		"reason", reason, "suppressed", c.suppressed)
	c.next, c.suppressed = now.Add(complaintPause), 0
}
