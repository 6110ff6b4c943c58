package kernelcache

import (
	"errors"
	"io/fs"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
)

// work builds in the background until Close.
func (s *Store[K, V]) work() {
	defer close(s.ended)
	for range s.wake {
		for s.Background() && s.step() {
		}
		s.mu.Lock()
		closed := s.closed
		s.mu.Unlock()
		if closed {
			return
		}
	}
}

// BuildOne builds the most urgent program, for stores without a background:
// call it between launches. It says whether there was one to build. A store that
// builds in the background returns false at once.
func (s *Store[K, V]) BuildOne() bool {
	return !s.Background() && s.step()
}

// step deletes what was evicted and builds one program. It says whether there was
// one to build.
func (s *Store[K, V]) step() bool {
	s.onTurn.Lock()
	defer s.onTurn.Unlock()
	defer s.bury()
	s.mu.Lock()
	next, ok := s.queue.pop()
	if !ok {
		s.mu.Unlock()
		return false
	}
	key := next.key
	s.building = &key
	if next.urgency != waited && !s.queue.pressing() {
		select {
		case <-s.hurry: // left from a build before
		default:
		}
	}
	target, device := s.target, s.device
	s.mu.Unlock()

	begin := time.Now()
	p, err := s.build(&target, key)
	if err == nil {
		s.cfg.Log.Debug("kernelcache: kernel is ready", "kernel", s.cfg.Name(key), "from_disk", p.FromDisk, "took", time.Since(begin))
	}
	s.settle(key, p, err, device)
	return true
}

// settle takes in what came of a build.
func (s *Store[K, V]) settle(key K, p *Program[V], err error, device uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	s.building = nil
	if device != s.device { // whatever was made is gone with its device
		if !s.closed {
			s.queue.push(key, wanted)
		}
		return
	}
	if err != nil {
		s.stats.Failed++
		if s.failures.add(key, err, time.Now(), s.stats.Failed) && !gpu.Lost(err) {
			s.cfg.Log.Warn("kernelcache: kernel cannot be built; launches go on without it", "kernel", s.cfg.Name(key), "err", err)
		}
		return
	}
	delete(s.failures.failures, key)
	if p.FromDisk {
		s.stats.Loaded++
	} else {
		s.stats.Built++
	}
	p.device = device
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
	var binary *disk.Binary
	if target.Device.Supports("program-binary") {
		binary = &disk.Binary{}
	}
	var name disk.Name
	stored := s.cfg.Disk != nil && binary != nil
	if stored {
		vendor, renderer, version := target.Device.Identity()
		name = disk.NameOf(vendor, renderer, version, source)
	}
	var warm time.Duration
	if !stored || !s.load(target, key, name, binary, p, &warm) {
		var noBinary error
		err = target.Device.Do(func() error {
			id, err := target.Device.CompileCompute(source)
			if err == nil {
				warm, err = adopt(target, key, id, p)
			}
			if err == nil && binary != nil {
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
	}
	s.prove(target, key, source, binary, warm)
	return p, nil
}

// adopt has the caller check and warm a linked program, and waits for that: warm
// is how long. Called inside Do.
func adopt[K comparable, V any](target *Target[K, V], key K, id gpu.Program, p *Program[V]) (warm time.Duration, err error) {
	begin := time.Now()
	value, err := target.Adopt(key, id)
	if err == nil {
		target.Device.Finish()
		warm = time.Since(begin)
		err = target.Device.Check()
	}
	if err != nil {
		target.Device.DeleteProgram(id)
		return 0, err
	}
	p.ID, p.Value = id, value
	return warm, nil
}

// load makes a program from the stored binary and says whether it could. What
// cannot be used is reported and removed.
func (s *Store[K, V]) load(target *Target[K, V], key K, name disk.Name, binary *disk.Binary, p *Program[V], warm *time.Duration) bool {
	dir := s.cfg.Disk
	stored, err := dir.Load(name)
	if err == nil {
		err = target.Device.Do(func() error {
			id, err := target.Device.LoadProgramBinary(stored.Format, stored.Data)
			if err == nil {
				*warm, err = adopt(target, key, id, p)
			}
			return err
		})
	}
	switch {
	case err == nil:
		p.FromDisk, *binary = true, stored
		return true
	case errors.Is(err, fs.ErrNotExist), gpu.Lost(err):
		return false
	}
	s.cfg.Log.Warn("kernelcache: stored program binary cannot be used and is built again",
		"kernel", s.cfg.Name(key), "directory", dir.Path(), "err", err)
	if err := dir.Remove(name); err != nil {
		s.cfg.Log.Debug("kernelcache: removing a stored program binary", "err", err)
	}
	s.mu.Lock()
	s.stats.Refused++
	s.mu.Unlock()
	return false
}

// keep stores a binary. After a first failure it stores none any more, so that a
// full disk is not tried again and again.
func (s *Store[K, V]) keep(name disk.Name, binary *disk.Binary, err error) {
	dir := s.cfg.Disk
	s.mu.Lock()
	skip := s.readOnly
	s.mu.Unlock()
	if skip {
		return
	}
	if err == nil {
		err = dir.Store(name, *binary)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.stats.Stored++
	case errors.Is(err, disk.ErrTooLarge):
		s.cfg.Log.Debug("kernelcache: program binary is not stored", "err", err)
	default:
		s.readOnly, s.stats.ReadOnly = true, err.Error()
		s.cfg.Log.Warn("kernelcache: program binaries are not stored any more; the next start compiles again",
			"directory", dir.Path(), "err", err)
	}
}
