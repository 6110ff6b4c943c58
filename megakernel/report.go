package megakernel

import "ringmaster/ring"

// Order is one launch to run.
type Order struct {
	Launch     uint64 // launch number, returned in the report
	Decision   uint64 // the decision it comes from, likewise
	Queue      string
	Geometry   Geometry
	BatchDepth uint32 // most slots of the launch; 0: as many as there are
}

// TimeSource says which clock measured a launch.
type TimeSource uint8

// Time sources.
const (
	TimeNone   TimeSource = iota // nothing ran
	TimeDevice                   // the driver's elapsed-time query
	TimeFinish                   // host clock from dispatch to the return of a finish
)

func (t TimeSource) String() string {
	switch t {
	case TimeDevice:
		return "device"
	case TimeFinish:
		return "finish"
	}
	return "none"
}

// Report is what came of a launch.
type Report struct {
	Launch      uint64
	Decision    uint64
	Queue       string
	Recommended Geometry // what the order asked for
	Applied     Geometry // what the device says it ran; zero if nothing was dispatched
	NotApplied  string   // why Applied differs from Recommended, empty if it does not
	ElapsedNs   uint64   // time of the dispatch
	TimeSource  TimeSource
	IdleNs      uint64 // from the end of the dispatch before to this one's begin, 0 for the first
	WallNs      uint64 // host time of the whole launch
	Scheduled   uint32 // slots in the launch's schedule that were not finished before
	Executed    uint32 // of them, slots that reached done
	Faulted     uint32 // of them, slots that ended in a fault
	Requeued    uint32 // of them, slots that were not reached and go round again
	OldestAge   uint32 // launches the longest waiting of those has been in, at most 255
	Opcodes     [ring.OpcodeBins]uint32
	Finished    []BatchResult
	Pending     int      // slots of the queue still to run
	Fingerprint [32]byte // BLAKE3-256 of the kernel source; zero if none was compiled
}

// minDeviceNs is the shortest elapsed-time reading that is believed. Software
// rasterisers answer 0 or 1 for compute work, and no dispatch takes less.
const minDeviceNs = 1000

// elapsed picks the time of a dispatch: the driver's reading if it is
// plausible, which is above minDeviceNs and not more than the host measured
// around it, else what the host measured.
func elapsed(deviceNs, finishNs uint64) (uint64, TimeSource) {
	if deviceNs > minDeviceNs && deviceNs <= finishNs {
		return deviceNs, TimeDevice
	}
	return finishNs, TimeFinish
}
