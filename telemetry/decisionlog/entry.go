package decisionlog

import (
	"errors"
	"fmt"
	"strconv"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// Format is the version of the format that this package writes and the only one it reads.
// Version 1 was binary.
const Format = 2

// Bounds of a log.
const (
	MaxLine = 32 << 10 // bytes of a line
	MaxText = 1024     // bytes of an error or of a software version
)

// ID is a random number of 64 bits. Its text is sixteen hexadecimal digits.
type ID uint64

// MarshalText returns sixteen hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%016x", uint64(id)), nil }

// UnmarshalText takes up to sixteen hexadecimal digits.
func (id *ID) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return fmt.Errorf("%.20q is not a hexadecimal number of 64 bits", b)
	}
	*id = ID(v)
	return nil
}

// Header begins a section of a log.
type Header struct {
	Format      uint32        `json:"format,omitzero"`      // Format; NewSection sets it
	Incarnation ID            `json:"incarnation,omitzero"` // of the process that decided
	Software    string        `json:"software,omitzero"`    // its version, for people
	Config      policy.Config `json:"config,omitzero"`
}

// Records names the telemetry that a decision answered.
type Records struct {
	Incarnation ID     `json:"incarnation,omitzero"` // of the publisher
	First       uint64 `json:"first,omitzero"`       // sequence number
	Last        uint64 `json:"last,omitzero"`        // sequence number
	SentNs      int64  `json:"sent_ns,omitzero"`     // of the last one, Unix nanoseconds by the publisher's clock
}

// Entry is one decision: policy.Decide under the header's Config, on Request and Before,
// gave Plan, After and Error.
type Entry struct {
	Worker   string                `json:"worker,omitzero"`
	Queue    string                `json:"queue,omitzero"`
	Decision uint64                `json:"decision,omitzero"` // counts the queue's decisions from 1, until it has been idle for long
	Records  Records               `json:"records,omitzero"`
	Request  policy.Request        `json:"request,omitzero"`
	Before   policy.State          `json:"before,omitzero"`
	Plan     policy.Recommendation `json:"plan,omitzero"` // zero if Error is not empty
	After    policy.State          `json:"after,omitzero"`
	Error    string                `json:"error,omitzero"` // why there is no plan
	// Ran are launches that were reported since the decision before, where decisions are audited.
	Ran Runs `json:"ran,omitzero"`
	// Undecided says that the policy was not asked, because the device limits were not
	// known yet; Before and After are then equal.
	Undecided bool `json:"undecided,omitzero"`
	// Director says that a kernel decided, and that it decided only the topology of one
	// level of a graph job: policy.Classify gives Plan's topologies, signals and first
	// reason and After's topology; everything else in them is zero. Decision is then the
	// one that the job began with, Job tells the jobs of a process apart, and Level
	// counts from 0.
	Director bool   `json:"director,omitzero"`
	Job      uint64 `json:"job,omitzero"`
	Level    uint32 `json:"level,omitzero"`
}

// check refuses what a decision cannot be made under.
func (h *Header) check() error {
	if h.Format != Format {
		return fmt.Errorf("the log has format %d, this version reads %d", h.Format, Format)
	}
	return h.Config.Validate()
}

var errNames = errors.New("worker and queue are not both names of 1 to 64 letters, digits, _ and -")

func (e *Entry) check() error {
	if !telemetry.ValidToken(e.Worker) || !telemetry.ValidToken(e.Queue) {
		return errNames
	}
	return nil
}
