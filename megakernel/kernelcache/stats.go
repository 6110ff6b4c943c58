package kernelcache

import "fmt"

// Stats is a snapshot of a store. Counts are since it was opened.
type Stats struct {
	Ready    int // programs that Get gives
	Held     int // of them, those in use
	Waiting  int // keys that wait to be built
	Building int // keys being built, 0 or 1
	Failing  int // keys remembered because their last build failed

	Built    uint64 // programs compiled from source
	Loaded   uint64 // programs made from a binary on disk
	Refused  uint64 // binaries on disk that were damaged or not accepted, and removed
	Failed   uint64 // builds that failed
	Evicted  uint64 // programs deleted to make room
	Dropped  uint64 // keys not built because the queue was full
	Stored   uint64 // binaries written to disk
	ReadOnly string // why nothing is written to disk any more, empty if it is
}

func (s Stats) String() string {
	return fmt.Sprintf("%d ready, %d held, %d waiting, %d built, %d loaded, %d refused, %d failed, %d evicted",
		s.Ready, s.Held, s.Waiting+s.Building, s.Built, s.Loaded, s.Refused, s.Failed, s.Evicted)
}
