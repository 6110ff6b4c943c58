package kernelcache

import (
	"errors"
	"io/fs"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
)

// work builds in the background until Close, or until Move has left the site.
func (s *Store) work(at *site) {
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
func (s *Store) BuildOne() bool {
	s.mu.Lock()
	at := s.site
	s.mu.Unlock()
	return !at.target.Background && s.step(at)
}

// step deletes what was evicted and builds one program. It says whether there was
// one to build.
func (s *Store) step(at *site) bool {
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
	p, err := s.build(at, key)
	if err == nil {
		s.cfg.Log.Debug("kernel is ready", "kernel", key.String(), "from_disk", p.FromDisk, "took", time.Since(begin))
	}
	s.settle(at, key, p, err)
	return true
}

// settle takes in what came of a build.
func (s *Store) settle(at *site, key Kernel, p *Program, err error) {
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
			s.cfg.Log.Warn("kernel cannot be built", "kernel", key.String(), "error", err)
		}
		return
	}
	delete(s.failures.of, key)
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
func (s *Store) build(at *site, key Kernel) (*Program, error) {
	dev, source := at.target.Device, key.Source()
	p := &Program{Fingerprint: fingerprint(source)}
	var name disk.Name
	stored := s.cfg.Disk != nil && at.traits.Binaries
	if stored {
		name = disk.NameOf(at.traits.Vendor, at.traits.Renderer, at.traits.Version, source)
		if s.load(at, key, name, p) {
			return p, nil
		}
	}
	var binary disk.Binary
	var noBinary error
	err := dev.Do(func() error {
		id, err := dev.CompileCompute(source)
		if err == nil {
			err = adopt(at, key, id, p)
		}
		if err == nil && stored {
			binary.Format, binary.Data, noBinary = dev.ProgramBinary(id)
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

// adopt has the kernel check and warm a linked program, and waits for that. Called
// inside Do.
func adopt(at *site, key Kernel, id gpu.Program, p *Program) error {
	dev := at.target.Device
	value, err := key.Adopt(dev, id, &at.idle)
	if err == nil {
		dev.Finish()
		err = dev.Check()
	}
	if err != nil {
		dev.DeleteProgram(id)
		return err
	}
	p.ID, p.Value = id, value
	return nil
}

// load makes a program from the stored binary and says whether it could. What
// cannot be used is reported and removed.
func (s *Store) load(at *site, key Kernel, name disk.Name, p *Program) bool {
	dir, dev := s.cfg.Disk, at.target.Device
	stored, err := dir.Load(name)
	if err == nil {
		err = dev.Do(func() error {
			id, err := dev.LoadProgramBinary(stored.Format, stored.Data)
			if err == nil {
				err = adopt(at, key, id, p)
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
		"kernel", key.String(), "directory", dir.Path(), "error", err)
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
func (s *Store) keep(name disk.Name, binary disk.Binary, err error) {
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
		s.readOnly = true
		s.cfg.Log.Warn("program binaries are not stored any more; the next start compiles again",
			"directory", dir.Path(), "error", err)
	}
}
