package kernelcache

import (
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
)

// Some drivers translate a program for each context, at its first dispatch
// there, and keep the translation in a cache on disk that all contexts read. Mesa's
// llvmpipe does, and writes its cache from a thread of the lowest priority: for a
// while after the warm dispatch here, the first dispatch on the launching context would
// translate once more, 20 to 700 ms in the middle of a launch. So after a warm dispatch
// that took long, the program is made and dispatched a second time, as a twin, and
// becomes ready when that was quick, because then the cache has it. Drivers
// that translate when they link are never asked for a twin.
const (
	slowWarm    = 5 * time.Millisecond  // a warm dispatch from which on something was translated
	quickPart   = 4                     // a twin this many times faster was not translated
	firstPause  = 10 * time.Millisecond // before the first twin, doubled for each next one
	proofPauses = 8                     // twins of a program: 2.5 s of pauses
)

// prove waits until a first dispatch of the program is quick on any context, or until it
// has waited long enough; warm is the time of the warm dispatch. It may wait, because
// only the building goroutine calls it.
func (s *Store[K, V]) prove(target *Target[K, V], key K, source string, binary *disk.Binary, warm time.Duration) {
	s.mu.Lock()
	skip := warm < slowWarm || !target.Background || s.unproven
	s.mu.Unlock()
	if skip {
		return
	}
	pause := firstPause
	for range proofPauses {
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-s.hurry:
			timer.Stop()
			return
		}
		pause *= 2
		took, err := twin(target, key, source, binary)
		if err != nil || took < warm/quickPart {
			return // an error of a twin is none of the program, which has run
		}
	}
	s.mu.Lock()
	s.unproven = true
	s.mu.Unlock()
	s.cfg.Log.Info("kernelcache: the driver keeps no translated kernels; the first launch of each new one waits for its translation")
}

// twin makes a program once more, and tells how long its first dispatch took.
func twin[K comparable, V any](target *Target[K, V], key K, source string, binary *disk.Binary) (took time.Duration, err error) {
	dev := target.Device
	err = dev.Do(func() error {
		var id gpu.Program
		var err error
		if binary != nil && len(binary.Data) > 0 {
			id, err = dev.LoadProgramBinary(binary.Format, binary.Data)
		} else {
			id, err = dev.CompileCompute(source)
		}
		if err != nil {
			return err
		}
		defer dev.DeleteProgram(id)
		begin := time.Now()
		if _, err := target.Adopt(key, id); err != nil {
			return err
		}
		dev.Finish()
		took = time.Since(begin)
		return dev.Check()
	})
	return took, err
}
