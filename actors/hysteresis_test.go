package actors

import "testing"

func TestHysteresisSettlesWhatWasLaunched(t *testing.T) {
	for _, test := range []struct {
		name              string
		steps             func(m *hysteresis[string])
		issued, committed string
	}{
		{"a failure returns to what was committed", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.settle(1, true, "a")
			m.issue(2, "b", false)
			m.settle(2, false, "b")
		}, "a", "a"},
		{"a failure before any success returns to nothing", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.settle(1, false, "a")
		}, "", ""},
		{"a success during newer decisions leaves them issued", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.issue(2, "b", false)
			m.settle(1, true, "a")
		}, "b", "a"},
		{"a failure takes back newer decisions, which built on it", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.issue(2, "b", false)
			m.settle(1, false, "a")
		}, "", ""},
		{"a retry that works is issued again", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.settle(1, false, "a")
			m.settle(1, true, "a")
		}, "a", "a"},
		{"of several in flight, the first failure takes back all, and what is decided then stands", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.settle(1, true, "a")
			m.issue(2, "b", false)
			m.issue(3, "c", false)
			m.settle(2, false, "b")
			m.issue(4, "d", false) // from a
			m.settle(3, false, "c")
		}, "d", "a"},
		{"one that ran although it was taken back is what a later failure returns to", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.settle(1, true, "a")
			m.issue(2, "b", false)
			m.issue(3, "c", false)
			m.settle(2, false, "b")
			m.issue(4, "d", false)
			m.settle(3, true, "c")
			m.settle(4, false, "d")
		}, "c", "c"},
		{"successes before a failure stand", func(m *hysteresis[string]) {
			m.issue(1, "a", false)
			m.issue(2, "b", false)
			m.issue(3, "c", false)
			m.settle(1, true, "a")
			m.settle(2, true, "b")
			m.settle(3, false, "c")
		}, "b", "b"},
		{"without reports a decision commits itself", func(m *hysteresis[string]) {
			m.issue(1, "a", true)
		}, "a", "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m hysteresis[string]
			test.steps(&m)
			if m.issued.state != test.issued || m.committed.state != test.committed {
				t.Errorf("issued %q committed %q, want %q and %q", m.issued.state, m.committed.state, test.issued, test.committed)
			}
		})
	}
}
