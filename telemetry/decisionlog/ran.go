package decisionlog

import (
	"encoding/json"

	"ringmaster/megakernel/policy"
)

// Ran is the first launch of a decision, as it was measured. Later launches of the decision
// are left out: one that another decision takes the place of has fewer of them.
type Ran struct {
	Decision   uint64            `json:"decision,omitzero"`
	Geometry   policy.Geometry   `json:"geometry,omitzero"` // at which it ran, without a depth
	LaunchMode policy.LaunchMode `json:"launch_mode,omitzero"`
	Mode       policy.Mode       `json:"mode,omitzero"`
	Slots      uint64            `json:"slots,omitzero"`
	Ns         uint64            `json:"ns,omitzero"` // on the device
}

// MaxRan is the most launches that an entry carries. Those beyond it are in none.
const MaxRan = 4

// Runs are launches in the order in which they were reported; zero ones are none.
type Runs [MaxRan]Ran

// MarshalJSON leaves out the places after the last launch. A reader takes them as zero.
func (r Runs) MarshalJSON() ([]byte, error) {
	n := len(r)
	for n > 0 && r[n-1] == (Ran{}) {
		n--
	}
	return json.Marshal(r[:n])
}
