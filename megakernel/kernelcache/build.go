package kernelcache

import (
	"errors"
	"io/fs"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
)

// work builds in the background until Close, or until Move has left the site.
func (s *Store[K, V]) work(at *site[K, V]) {
	defer close(at.ended)
	for range at.wake {
		for s.step(at) {
		}
		s.mu.Lock()
		over := s.closed || s.site != at
		s.mu.Unlock()
		if over {
			return
		}
	}
}

// BuildOne builds the most urgent program, for stores without a background:
// call it between launches. It says whether there was one to build. A store that
// builds in the background returns false at once.
func (s *Store[K, V]) BuildOne() bool {
	s.mu.Lock()
	at := s.site
	s.mu.Unlock()
	return !at.target.Background && s.step(at)
}

// step deletes what was evicted and builds one program. It says whether there was
// one to build.
func (s *Store[K, V]) step(at *site[K, V]) bool {
	at.turn.Lock()
	defer at.turn.Unlock()
	defer s.bury(at)
	s.mu.Lock()
	if s.site != at {
		s.mu.Unlock()
		return false
	}
	next, ok := s.queue.pop()
	if !ok {
		s.mu.Unlock()
		return false
	}
	key := next.key
	at.building = &key
	s.mu.Unlock()

	begin := time.Now()
	p, err := s.build(&at.target, key)
	if err == nil {
		s.cfg.Log.Debug("kernel is ready", "kernel", s.cfg.Name(key), "from_disk", p.FromDisk, "took", time.Since(begin))
	}
	s.settle(at, key, p, err)
	return true
}

// settle takes in what came of a build.
func (s *Store[K, V]) settle(at *site[K, V], key K, p *Program[V], err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at.building = nil
	if s.site != at { // whatever was made is gone with its device, and Move asked for it anew
		return
	}
	defer s.notify()
	if err != nil {
		s.stats.Failed++
		if s.failures.add(key, err, time.Now(), s.stats.Failed) && !gpu.Lost(err) {
			s.cfg.Log.Warn("kernel cannot be built", "kernel", s.cfg.Name(key), "error", err)
		}
		return
	}
	delete(s.failures.failures, key)
	if p.FromDisk {
		s.stats.Loaded++
	} else {
		s.stats.Built++
	}
	p.site = at
	s.touch(p)
	s.ready[key] = p
	s.evict(p)
}

// build makes a program from a stored binary or from source.
func (s *Store[K, V]) build(target *Target[K, V], key K) (*Program[V], error) {
	source, err := s.cfg.Source(key)
	if err != nil {
		return nil, err
	}
	p := &Program[V]{Fingerprint: fingerprint(source)}
	var name disk.Name
	stored := s.cfg.Disk != nil && target.Device.Supports("program-binary")
	if stored {
		vendor, renderer, version := target.Device.Identity()
		name = disk.NameOf(vendor, renderer, version, source)
		if s.load(target, key, name, p) {
			return p, nil
		}
	}
	var binary disk.Binary
	var noBinary error
	err = target.Device.Do(func() error {
		id, err := target.Device.CompileCompute(source)
		if err == nil {
			err = adopt(target, key, id, p)
		}
		if err == nil && stored {
			binary.Format, binary.Data, noBinary = target.Device.ProgramBinary(id)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if stored {
		s.keep(name, binary, noBinary)
	}
	return p, nil
}

// adopt has the caller check and warm a linked program, and waits for that. Called
// inside Do.
func adopt[K comparable, V any](target *Target[K, V], key K, id gpu.Program, p *Program[V]) error {
	value, err := target.Adopt(key, id)
	if err == nil {
		target.Device.Finish()
		err = target.Device.Check()
	}
	if err != nil {
		target.Device.DeleteProgram(id)
		return err
	}
	p.ID, p.Value = id, value
	return nil
}

// load makes a program from the stored binary and says whether it could. What
// cannot be used is reported and removed.
func (s *Store[K, V]) load(target *Target[K, V], key K, name disk.Name, p *Program[V]) bool {
	dir := s.cfg.Disk
	stored, err := dir.Load(name)
	if err == nil {
		err = target.Device.Do(func() error {
			id, err := target.Device.LoadProgramBinary(stored.Format, stored.Data)
			if err == nil {
				err = adopt(target, key, id, p)
			}
			return err
		})
	}
	switch {
	case err == nil:
		p.FromDisk = true
		return true
	case errors.Is(err, fs.ErrNotExist), gpu.Lost(err):
		return false
	}
	s.cfg.Log.Warn("stored program binary cannot be used and is built again",
		"kernel", s.cfg.Name(key), "directory", dir.Path(), "error", err)
	if err := dir.Remove(name); err != nil {
		s.cfg.Log.Debug("removing a stored program binary", "error", err)
	}
	s.mu.Lock()
	s.stats.Refused++
	s.mu.Unlock()
	return false
}

// keep stores a binary. After a first failure it stores none any more, so that a
// full disk is not tried again and again.
func (s *Store[K, V]) keep(name disk.Name, binary disk.Binary, err error) {
	dir := s.cfg.Disk
	s.mu.Lock()
	skip := s.readOnly
	s.mu.Unlock()
	if skip {
		return
	}
	if err == nil {
		err = dir.Store(name, binary)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.stats.Stored++
	case errors.Is(err, disk.ErrTooLarge):
		s.cfg.Log.Debug("program binary is not stored", "error", err)
	default:
		s.readOnly, s.stats.ReadOnly = true, err.Error()
		s.cfg.Log.Warn("program binaries are not stored any more; the next start compiles again",
			"directory", dir.Path(), "error", err)
	}
}
