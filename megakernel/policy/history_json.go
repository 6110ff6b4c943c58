package policy

import (
	"encoding/json"
	"errors"
)

// historyForm is a History as JSON has it: what was measured, and nothing that follows from it.
type historyForm struct {
	Launches   uint64    `json:"launches,omitzero"`
	Wave       Way       `json:"wave,omitzero"`
	Refused    uint64    `json:"refused,omitzero"`
	WavesHost  hostForm  `json:"waves_host,omitzero"`
	LeasesHost hostForm  `json:"leases_host,omitzero"`
	By         []wayForm `json:"by,omitempty"` // by Way, up to the last with launches
}

type hostForm struct {
	Ns    []uint64 `json:"ns,omitempty"` // the newest, in the order of their places
	Taken uint64   `json:"taken,omitzero"`

	DeviceClock bool `json:"device_clock,omitzero"`
}

// IsZero makes the form of none absent.
func (f hostForm) IsZero() bool { return f.Taken == 0 }

type wayForm struct {
	Rows   [][2]float64 `json:"rows,omitempty"` // slots and nanoseconds of the newest, in the order of their places
	Taken  uint64       `json:"taken,omitzero"`
	Launch uint64       `json:"launch,omitzero"`
}

// MarshalJSON returns what was measured, at most about 3 KB.
func (h History) MarshalJSON() ([]byte, error) {
	f := historyForm{Launches: h.launches, Wave: h.wave, Refused: h.refused, WavesHost: h.wavesHost.form(), LeasesHost: h.leasesHost.form()}
	for way := range h.by {
		b := &h.by[way]
		if b.costs.taken == 0 {
			continue
		}
		for len(f.By) <= way {
			f.By = append(f.By, wayForm{})
		}
		f.By[way].Taken, f.By[way].Launch = b.costs.taken, b.launch
		for _, row := range b.costs.rows[:min(b.costs.taken, costRows)] {
			f.By[way].Rows = append(f.By[way].Rows, [2]float64{row.slots, row.ns})
		}
	}
	return json.Marshal(f)
}

func (t *hostTimes) form() hostForm {
	return hostForm{Ns: t.ns[:min(t.taken, hostRows)], Taken: t.taken, DeviceClock: t.deviceClock}
}

var errHistory = errors.New("the costs of a queue's launches are not what they can be")

// UnmarshalJSON takes what MarshalJSON returned, and refuses what cannot have been measured.
func (h *History) UnmarshalJSON(b []byte) error {
	var f historyForm
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	if f.Wave >= ways || len(f.By) > int(ways) || f.Refused > max(f.Launches, 1) {
		return errHistory
	}
	taken := History{launches: f.Launches, wave: f.Wave, refused: f.Refused}
	if !taken.wavesHost.take(f.WavesHost) || !taken.leasesHost.take(f.LeasesHost) {
		return errHistory
	}
	for way, from := range f.By {
		to := &taken.by[way]
		if uint64(len(from.Rows)) != min(from.Taken, costRows) || from.Launch > f.Launches {
			return errHistory
		}
		for i, row := range from.Rows {
			var one Costs
			if row[0] < 1 || row[1] < 1 || row[0] != float64(uint64(row[0])) || one.Take(uint64(row[0]), uint64(row[1])) != nil {
				return errHistory
			}
			to.costs.rows[i] = costRow{row[0], row[1]}
		}
		to.costs.taken, to.launch, to.stale = from.Taken, from.Launch, from.Taken > 0
	}
	*h = taken
	return nil
}

func (t *hostTimes) take(f hostForm) bool {
	t.taken, t.deviceClock = f.Taken, f.DeviceClock
	return uint64(len(f.Ns)) == min(f.Taken, hostRows) && copy(t.ns[:], f.Ns) == len(f.Ns)
}

// Launches counts the launches that the history has taken.
func (h *History) Launches() uint64 { return h.launches }
