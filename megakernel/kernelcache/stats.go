package kernelcache

// Stats is a snapshot of a store. Counts are since it was opened.
type Stats struct {
	Ready    int // programs that Get gives
	Held     int // of them, those in use
	Waiting  int // keys that wait to be built
	Building int // keys being built, 0 or 1

	Built   uint64 // programs compiled from source
	Loaded  uint64 // programs made from a binary on disk
	Refused uint64 // binaries on disk that were damaged or not accepted, and removed
	Failed  uint64 // builds that failed
	Evicted uint64 // programs deleted to make room
	Dropped uint64 // keys not built because the queue was full
	Stored  uint64 // binaries written to disk
}
