package decisionlog

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/zeebo/blake3"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// DecidedFormat is the version of Decided that this package writes and the newest it reads.
const DecidedFormat = 1

// Decided is what a message of the decision stream says beside its recommendation: who
// decided, on what, what came of it, and what the next decision builds on. In the message it
// is JSON, in the field that the wire calls decided.
type Decided struct {
	Format   uint32 `json:"format"`            // EncodeDecided sets it
	Node     ID     `json:"node"`              // random, of the process that decided
	Write    ID     `json:"write"`             // random, of this message: tells it from what others wrote after the same one
	Previous uint64 `json:"previous,omitzero"` // sequence of the queue's message before in the stream, 0: none was known
	Config   string `json:"config,omitzero"`   // names the policy configuration, see ConfigName
	Software string `json:"software,omitzero"` // version of the process, for people

	// Rejoined says that the process decided alone before this, while it had no stream: from
	// the message before to this one decision numbers have a gap, and so have inputs.
	Rejoined bool `json:"rejoined,omitzero"`

	Entry Entry `json:"entry"`

	// Memory is what the next decision builds on beside Entry.After, as JSON text; package
	// actors writes and reads it.
	Memory json.RawMessage `json:"memory,omitzero"`
}

// ErrNewer says that a newer version wrote a message, and that this one may not understand it.
var ErrNewer = errors.New("written by a newer version")

// EncodeDecided encodes a message. The error wraps ErrLarge if it is larger than a
// recommendation can carry.
func EncodeDecided(d *Decided) ([]byte, error) {
	own := *d
	own.Format = DecidedFormat
	own.Software, own.Entry.Error = cut(own.Software), cut(own.Entry.Error)
	own.Memory = nil // json would read every byte of it once more, which takes a third of all the time
	b := mustMarshal(&own)
	if len(d.Memory) > 0 {
		b = append(append(append(b[:len(b)-1], `,"memory":`...), d.Memory...), '}')
	}
	if len(b) > telemetry.MaxDecided {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrLarge, len(b), telemetry.MaxDecided)
	}
	return b, nil
}

// ErrLarge says that a decision does not fit into a message.
var ErrLarge = errors.New("the decision is too large for a message")

// DecodeDecided decodes what a message of the stream carries. The error wraps ErrNewer if the
// message has a later format. Keys that this version does not know are skipped.
func DecodeDecided(b []byte) (*Decided, error) {
	if len(b) > telemetry.MaxDecided {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrLarge, len(b), telemetry.MaxDecided)
	}
	var d Decided
	if err := jsonv2.Unmarshal(b, &d, asWritten); err != nil {
		return nil, fmt.Errorf("a decision's message is damaged: %w", err)
	}
	switch {
	case d.Format > DecidedFormat:
		return nil, fmt.Errorf("%w: format %d, this version reads %d", ErrNewer, d.Format, DecidedFormat)
	case d.Format == 0 || d.Node == 0 || d.Write == 0 || d.Entry.Decision == 0:
		return nil, errors.New("a decision's message lacks its format, node, write or decision")
	case len(d.Config) > maxConfigName:
		return nil, errors.New("a decision's message names its configuration with too much text")
	}
	return &d, d.Entry.check()
}

// Recall decodes what the next decision builds on. Keys that are not known are skipped.
func (d *Decided) Recall(memory any) error {
	if len(d.Memory) == 0 {
		return nil
	}
	return jsonv2.Unmarshal(d.Memory, memory, asWritten)
}

const maxConfigName = 64

// ConfigName names a policy configuration: decisions under the same name are made by the same
// thresholds and switches. It is 16 hexadecimal digits of the BLAKE3 hash of the JSON text.
func ConfigName(c *policy.Config) string { return nameOf(ConfigText(c)) }

// ConfigText is the JSON text of a policy configuration, which is stored under its name.
func ConfigText(c *policy.Config) []byte { return mustMarshal(c) }

// ParseConfig reads the text of the configuration with a name. The error wraps ErrNewer if a
// newer version wrote it: decisions may depend on what this one does not know.
func ParseConfig(name string, text []byte) (*policy.Config, error) {
	if nameOf(text) != name {
		return nil, fmt.Errorf("policy configuration %.64s: its text is damaged: it has the name %s", name, nameOf(text))
	}
	c := new(policy.Config)
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("policy configuration %s: %w", name, err)
	}
	if ConfigName(c) != name {
		return nil, fmt.Errorf("policy configuration %s: %w", name, ErrNewer)
	}
	return c, c.Validate()
}

func nameOf(text []byte) string {
	sum := blake3.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
