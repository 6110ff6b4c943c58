package kernelcache

import "time"

// failures remembers what cannot be built, so that it is not tried at every
// launch. It keeps limit keys and forgets the ones that failed longest ago.
type failures[K comparable] struct {
	limit    int
	first    time.Duration
	most     time.Duration
	failures map[K]*failure
}

type failure struct {
	err    error
	text   string // what was reported
	pause  time.Duration
	failed time.Time
	serial uint64 // the store's number of failures with this one
}

// add takes in that a key failed and says whether that is to be reported.
func (f *failures[K]) add(key K, err error, now time.Time, serial uint64) (report bool) {
	known := f.failures[key]
	if known == nil {
		f.makeRoom()
		known = &failure{}
		f.failures[key] = known
	}
	known.pause = min(max(2*known.pause, f.first), f.most)
	report = known.text != err.Error()
	known.err, known.text, known.failed = err, err.Error(), now
	known.serial = serial
	return report
}

// pending is the error of a key that is not to be tried yet, else nil.
func (f *failures[K]) pending(key K, now time.Time) error {
	if known := f.failures[key]; known != nil && now.Before(known.failed.Add(known.pause)) {
		return known.err
	}
	return nil
}

func (f *failures[K]) makeRoom() {
	if len(f.failures) < f.limit {
		return
	}
	var oldest K
	var at time.Time
	for key, known := range f.failures {
		if at.IsZero() || known.failed.Before(at) {
			oldest, at = key, known.failed
		}
	}
	delete(f.failures, oldest)
}
