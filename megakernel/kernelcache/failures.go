package kernelcache

import "time"

// From a first failure of a kernel to the next try, doubled with each failure up to retryMost.
const (
	retryFirst = 5 * time.Second
	retryMost  = 10 * time.Minute
)

// failures remembers what cannot be built, so that it is not tried at every
// launch. It keeps limit kernels and forgets the ones that failed longest ago.
type failures struct {
	limit int
	of    map[Kernel]*failure
}

type failure struct {
	err    error
	pause  time.Duration
	failed time.Time
	serial uint64 // the store's number of failures with this one
}

// add takes in that a kernel failed and says whether that is to be reported.
func (f *failures) add(key Kernel, err error, now time.Time, serial uint64) (report bool) {
	known := f.of[key]
	if known == nil {
		f.makeRoom()
		known = &failure{}
		f.of[key] = known
	}
	report = known.err == nil || known.err.Error() != err.Error()
	*known = failure{err: err, pause: min(max(2*known.pause, retryFirst), retryMost), failed: now, serial: serial}
	return report
}

// pending is the error of a kernel that is not to be tried yet, else nil.
func (f *failures) pending(key Kernel, now time.Time) error {
	if known := f.of[key]; known != nil && now.Before(known.failed.Add(known.pause)) {
		return known.err
	}
	return nil
}

func (f *failures) makeRoom() {
	if len(f.of) < f.limit {
		return
	}
	var oldest Kernel
	var at time.Time
	for key, known := range f.of {
		if at.IsZero() || known.failed.Before(at) {
			oldest, at = key, known.failed
		}
	}
	delete(f.of, oldest)
}
