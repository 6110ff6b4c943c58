package kernelcache

import (
	"cmp"
	"slices"
)

// evict takes the least recently used programs that nobody holds out of the
// store until the rest fits. The one named keep stays: it was just built and
// nobody had the time to take it. Called with mu held.
func (s *Store) evict(keep *Program) {
	if len(s.ready) <= s.cfg.Programs {
		return
	}
	for _, key := range slices.Backward(s.byUse()) {
		p := s.ready[key]
		if p.holds > 0 || p == keep {
			continue
		}
		delete(s.ready, key)
		s.site.dead = append(s.site.dead, p.ID)
		s.stats.Evicted++
		if len(s.ready) <= s.cfg.Programs {
			break
		}
	}
	s.site.signal()
}

// byUse gives the keys of what is ready, the most recently used first. Called
// with mu held.
func (s *Store) byUse() []Kernel {
	keys := make([]Kernel, 0, len(s.ready))
	for key := range s.ready {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b Kernel) int { return cmp.Compare(s.ready[b].used, s.ready[a].used) })
	return keys
}

// bury deletes the programs that were evicted. Called with the site's turn held.
func (s *Store) bury(at *site) {
	s.mu.Lock()
	dead, dev := at.dead, at.target.Device
	at.dead = nil
	s.mu.Unlock()
	if len(dead) == 0 {
		return
	}
	err := dev.Do(func() error {
		for _, id := range dead {
			dev.DeleteProgram(id)
		}
		return nil
	})
	if err != nil {
		s.cfg.Log.Debug("deleting programs", "error", err)
	}
}
