package actors

import (
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

// untuned counts a launch report that the tuner refused, and warns of it.
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
	s.cfg.Logger.Warn("launch report is not used for tuning", "worker", f.device.name, "queue", f.name,
		"reason", reason, "suppressed", c.suppressed)
	c.next, c.suppressed = now.Add(complaintPause), 0
}
