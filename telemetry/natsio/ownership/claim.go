package ownership

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ringmaster/telemetry"
)

// AnyWorker claims every worker that no other process claims by its name.
const AnyWorker = "*"

// Role is when a process decides for the workers that it claims.
type Role string

// Roles.
const (
	RoleDecides  Role = "decides"  // whenever it runs
	RoleFallback Role = "fallback" // while nobody else decides for its worker
)

const (
	maxClaim   = 1 << 10 // bytes of a claim's text
	maxProcess = telemetry.MaxText
)

// Claim is what a process says about the workers that it can decide for. All but Deciding
// is the same for as long as the process lives.
type Claim struct {
	Incarnation uint64 `json:"incarnation,string"`
	Worker      string `json:"worker"` // a name, or AnyWorker
	Role        Role   `json:"role"`
	Deciding    bool   `json:"deciding"` // false: it is starting or draining, and leaves its workers to others where there are any
	SinceNs     int64  `json:"since_ns"` // start of the process, Unix nanoseconds by its own clock
	Process     string `json:"process"`  // for people
}

// subjectOf is where a worker is claimed: <prefix>.decider for all, <prefix>.decider.<worker> by name.
func subjectOf(root, worker string) string {
	if worker == AnyWorker {
		return root + ".decider"
	}
	return root + ".decider." + worker
}

var (
	errTooLong     = fmt.Errorf("more than %d bytes", maxClaim)
	errIncarnation = errors.New("incarnation 0")
	errWorker      = errors.New("worker is neither a name nor " + AnyWorker)
	errSubject     = errors.New("said on the subject of other workers")
	errRole        = errors.New("unknown role")
)

// parse reads a claim from its text.
func parse(text []byte) (Claim, error) {
	var c Claim
	if len(text) > maxClaim {
		return Claim{}, errTooLong
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return Claim{}, err
	}
	switch {
	case c.Incarnation == 0:
		return Claim{}, errIncarnation
	case c.Worker != AnyWorker && !telemetry.ValidToken(c.Worker):
		return Claim{}, errWorker
	case c.Role != RoleDecides && (c.Role != RoleFallback || c.Worker == AnyWorker):
		return Claim{}, errRole
	}
	c.Process = clip(c.Process)
	return c, nil
}

// text is the claim as it is said.
func (c *Claim) text() []byte {
	b, _ := json.Marshal(c) // a struct of plain values does not fail
	return b
}

// clip makes the name of a process short enough for a claim, and valid UTF-8.
func clip(process string) string {
	return strings.ToValidUTF8(process[:min(len(process), maxProcess)], "")
}
