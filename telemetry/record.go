package telemetry

import "fmt"

// Bounds of lists and texts. The schema refuses more.
const (
	MaxBatchSlots   = 4096     // slots of one batch
	MaxSlotArgs     = 12       // arguments of one slot
	MaxPriority     = 4        // least urgent slot priority
	MaxFaults       = 64       // faults listed in one done record
	MaxPrints       = 64       // prints in one done record
	PrintWords      = 5        // words of a print: position of the slot in its batch, four arguments
	MaxReasons      = 16       // reasons of one recommendation
	MaxOpcodes      = 64       // opcode counts of one launch report
	MaxCapabilities = 32       // capabilities of one worker
	MaxUserOpcodes  = 48       // operator's opcodes of one worker
	MaxText         = 256      // bytes of a text
	MaxDetail       = 1024     // bytes of the detail of a rejected record
	FingerprintSize = 32       // bytes of a BLAKE3-256 hash
	MaxHeapWords    = 64 << 10 // words of one transfer from or to a window
	wordBytes       = 4
)

// Minor is the schema minor version that this package writes.
const Minor uint32 = 0

// Masks of all fields of a body.
const (
	HasAllQueue    = HasExecutedCount<<1 - 1
	HasAllGraph    = HasRequeuedHitCount<<1 - 1
	HasAllPriority = HasCoefficient<<1 - 1
	HasAllLaunch   = HasAppliedDepth<<1 - 1
	HasAllWorker   = HasOpcodes<<1 - 1
	HasAllWork     = HasDeadlineMs<<1 - 1
)

// Record is one decoded record: the header, and the body that Header.Kind
// names. The other bodies hold what earlier records left in them.
type Record struct {
	Header
	Queue          Queue
	Graph          Graph
	Priority       Priority
	Launch         Launch
	Worker         Worker
	Recommendation Recommendation
	Work           Work
	Done           Done
	Rejected       Rejected
	Heap           Heap
	Resident       Resident
	Cancel         Cancel
}

var kindNames = []string{
	KindInvalid: "", KindQueue: "queue", KindGraph: "graph", KindPriority: "priority", KindLaunch: "launch",
	KindWorker: "worker", KindRecommendation: "recommendation", KindWork: "work", KindDone: "done", KindRejected: "rejected",
	KindHeap: "heap", KindResident: "resident", KindCancel: "cancel",
}

// String returns the wire name of the kind.
func (k Kind) String() string { return nameOf(kindNames, uint8(k), "kind") }

var launchStatusNames = []string{LaunchOK: "ok", LaunchFailed: "failed"}

// String returns the wire name of the status.
func (s LaunchStatus) String() string { return nameOf(launchStatusNames, uint8(s), "status") }

var launchModeNames = []string{ModeWave: "wave", ModeLease: "lease"}

// String returns the wire name of the mode.
func (m LaunchMode) String() string { return nameOf(launchModeNames, uint8(m), "mode") }

var heapOpNames = []string{HeapRead: "read", HeapWrite: "write"}

// String returns the wire name of the operation.
func (o HeapOp) String() string { return nameOf(heapOpNames, uint8(o), "op") }

var timeSourceNames = []string{TimeNone: "none", TimeQuery: "query", TimeWall: "wall"}

// String returns the wire name of the source.
func (s TimeSource) String() string { return nameOf(timeSourceNames, uint8(s), "source") }

func nameOf(names []string, code uint8, what string) string {
	if int(code) < len(names) && names[code] != "" {
		return names[code]
	}
	return fmt.Sprintf("%s(%d)", what, code)
}
