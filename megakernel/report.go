package megakernel

import (
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/ring"
)

// Order is one launch to run.
type Order struct {
	Launch   uint64 // launch number, returned in the report
	Decision uint64 // the decision it comes from, returned in the report
	Queue    string
	Geometry policy.Geometry // wanted; what the device or the loop budget does not allow becomes the nearest that they do
	InFlight uint32          // most waves in flight with this one; 0: Config.InFlight
	Fuse     bool            // a fused kernel may run it, if the queue has hot opcodes
	Mode     LaunchMode
}

// LaunchMode says whether a wave runs a launch or the resident kernel, where
// there is one; see Config.Lease.
type LaunchMode uint8

// Launch modes. What the resident kernel does not take runs as a wave.
const (
	ModeWave  LaunchMode = iota // a wave
	ModeLease                   // the resident kernel if a round of it has room for the slots
	ModeAuto                    // the resident kernel if a round has room and the slots are short besides
)

func (m LaunchMode) String() string {
	switch m {
	case ModeLease:
		return "lease"
	case ModeAuto:
		return "auto"
	}
	return "wave"
}

// Report is what came of a launch.
type Report struct {
	Launch      uint64
	Decision    uint64
	Queue       string
	Recommended policy.Geometry // what the order asked for
	Applied     policy.Geometry // what the device says it ran, at the depth ordered; zero if no wave was dispatched
	NotApplied  string          // why Applied differs from Recommended, or Kernel from Wanted, or why no lease ran it that was asked for; empty if nothing does
	ElapsedNs   uint64          // time of the dispatch; by the host's clock, without the time behind waves before it
	TimeSource  gpu.TimeSource
	WallNs      uint64                  // host time from Start until the report was handed out
	Scheduled   uint32                  // slots in the launch's schedule that were not finished before
	Executed    uint32                  // of them, slots that reached done
	Faulted     uint32                  // of them, slots that ended in a fault
	Requeued    uint32                  // of them, slots that go round again: not reached, yielded or requeued
	Opcodes     [ring.OpcodeBins]uint32 // slots executed, by opcode
	Finished    []BatchResult           // batches of the queue that ended with this launch, or outside of any since the last report
	Pending     int                     // slots of the queue still to run
	Fingerprint [32]byte                // BLAKE3-256 of the kernel source; zero if none was compiled

	Leased       bool // the resident kernel ran it
	LeaseRefused bool // the order asked for that, and the slots' loops are too long for it

	Wanted kernel.Kernel // the kernel that Recommended and the hot opcodes ask for
	Kernel kernel.Kernel // the one that ran; NotApplied says why if it is another
	// CompiledReady says that a kernel fused for what the queue's launches made hot is built at
	// the geometry of this wave, so that an order with Fuse has it at once.
	CompiledReady bool
}
