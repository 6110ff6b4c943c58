package actors

import "testing"

func TestMemorySettlesWhatWasLaunched(t *testing.T) {
	for _, test := range []struct {
		name              string
		steps             func(m *memory[string])
		issued, committed string
	}{
		{"a failure returns to what was committed", func(m *memory[string]) {
			m.issue(1, "a", false)
			m.settle(1, true, "a")
			m.issue(2, "b", false)
			m.settle(2, false, "b")
		}, "a", "a"},
		{"a failure before any success returns to nothing", func(m *memory[string]) {
			m.issue(1, "a", false)
			m.settle(1, false, "a")
		}, "", ""},
		{"a success during newer decisions leaves them issued", func(m *memory[string]) {
			m.issue(1, "a", false)
			m.issue(2, "b", false)
			m.settle(1, true, "a")
		}, "b", "a"},
		{"a failure takes back newer decisions, which built on it", func(m *memory[string]) {
			m.issue(1, "a", false)
			m.issue(2, "b", false)
			m.settle(1, false, "a")
		}, "", ""},
		{"a retry that works is issued again", func(m *memory[string]) {
			m.issue(1, "a", false)
			m.settle(1, false, "a")
			m.settle(1, true, "a")
		}, "a", "a"},
		{"without reports a decision commits itself", func(m *memory[string]) {
			m.issue(1, "a", true)
		}, "a", "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m memory[string]
			test.steps(&m)
			if m.issued.state != test.issued || m.committed.state != test.committed {
				t.Errorf("issued %q committed %q, want %q and %q", m.issued.state, m.committed.state, test.issued, test.committed)
			}
		})
	}
}
