package stage

import "testing"

func TestHysteresisSettlesWhatWasLaunched(t *testing.T) {
	for _, test := range []struct {
		name              string
		steps             func(m *Hysteresis[string])
		issued, committed string
	}{
		{"a failure returns to what was committed", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Settle(1, true, "a")
			m.Issue(2, "b", false)
			m.Settle(2, false, "b")
		}, "a", "a"},
		{"a failure before any success returns to nothing", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Settle(1, false, "a")
		}, "", ""},
		{"a success during newer decisions leaves them issued", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Issue(2, "b", false)
			m.Settle(1, true, "a")
		}, "b", "a"},
		{"a failure takes back newer decisions, which built on it", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Issue(2, "b", false)
			m.Settle(1, false, "a")
		}, "", ""},
		{"a retry that works is issued again", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Settle(1, false, "a")
			m.Settle(1, true, "a")
		}, "a", "a"},
		{"of several in flight, the first failure takes back all, and what is decided then stands", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Settle(1, true, "a")
			m.Issue(2, "b", false)
			m.Issue(3, "c", false)
			m.Settle(2, false, "b")
			m.Issue(4, "d", false) // from a
			m.Settle(3, false, "c")
		}, "d", "a"},
		{"one that ran although it was taken back is what a later failure returns to", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Settle(1, true, "a")
			m.Issue(2, "b", false)
			m.Issue(3, "c", false)
			m.Settle(2, false, "b")
			m.Issue(4, "d", false)
			m.Settle(3, true, "c")
			m.Settle(4, false, "d")
		}, "c", "c"},
		{"successes before a failure stand", func(m *Hysteresis[string]) {
			m.Issue(1, "a", false)
			m.Issue(2, "b", false)
			m.Issue(3, "c", false)
			m.Settle(1, true, "a")
			m.Settle(2, true, "b")
			m.Settle(3, false, "c")
		}, "b", "b"},
		{"without reports a decision commits itself", func(m *Hysteresis[string]) {
			m.Issue(1, "a", true)
		}, "a", "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m Hysteresis[string]
			test.steps(&m)
			if m.Issued.State != test.issued || m.Committed.State != test.committed {
				t.Errorf("issued %q committed %q, want %q and %q", m.Issued.State, m.Committed.State, test.issued, test.committed)
			}
		})
	}
}
