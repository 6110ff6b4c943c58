package audit

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"ringmaster/telemetry/decisionlog"
)

// stream is messages of one queue: sequence, previous, number, input, node; rejoined if negative.
type message struct {
	sequence, previous, number, input uint64
	node                              decisionlog.ID
	rejoined                          bool
	config                            string
}

func check(messages ...message) Report { return checkBehind(0, messages...) }

// checkBehind checks what is read of a stream whose bounds have by then removed all below a sequence.
func checkBehind(first uint64, messages ...message) Report {
	c := Checker{Removed: func(_, _ string, sequence uint64) (bool, error) { return sequence < first, nil }}
	for _, m := range messages {
		err := c.Take(m.sequence, &decisionlog.Decided{
			Node: m.node, Previous: m.previous, Rejoined: m.rejoined, Config: m.config,
			Entry: decisionlog.Entry{Worker: "w", Queue: "q", Decision: m.number, Records: decisionlog.Records{Incarnation: 7, Last: m.input}},
		})
		if err != nil {
			panic(err)
		}
	}
	return c.Report()
}

func TestHolesAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		messages []message
		want     []string
	}{
		"whole":           {[]message{{sequence: 1, number: 1, input: 1}, {sequence: 4, previous: 1, number: 2, input: 1}, {sequence: 5, previous: 4, number: 3, input: 9}}, nil},
		"begun":           {[]message{{sequence: 9, previous: 3, number: 7, input: 1}}, nil},
		"alone":           {[]message{{sequence: 1, number: 1}, {sequence: 2, previous: 1, number: 9, rejoined: true}}, nil},
		"twice":           {[]message{{sequence: 1, number: 1}, {sequence: 2, previous: 1, number: 1}}, []string{"it was made twice"}},
		"missing":         {[]message{{sequence: 1, number: 1}, {sequence: 2, previous: 1, number: 4}}, []string{"2 are missing"}},
		"another before":  {[]message{{sequence: 1, number: 1}, {sequence: 5, previous: 3, number: 2}}, []string{"from the state after message 3"}},
		"an older input":  {[]message{{sequence: 1, number: 1, input: 5}, {sequence: 2, previous: 1, number: 2, input: 4}}, []string{"answers record 4"}},
		"twice and other": {[]message{{sequence: 1, number: 1, input: 5}, {sequence: 2, number: 1, input: 4}}, []string{"after message 0", "made twice", "answers record 4"}},
	} {
		r := check(c.messages...)
		if r.HoleCount != len(c.want) || r.Decisions != len(c.messages) {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(r.Holes[i].What, want) {
				t.Errorf("%s: %q, want %q", name, r.Holes[i].What, want)
			}
		}
	}
}

// What the bounds of the stream removed before it was read is no hole. What they cannot have done is.
func TestWhatIsRemovedMeanwhileIsCounted(t *testing.T) {
	read := message{sequence: 1, number: 1, input: 5}
	for name, c := range map[string]struct {
		first   uint64
		next    message
		removed int
		want    []string
	}{
		"removed":             {9, message{sequence: 9, previous: 8, number: 4, input: 5}, 1, nil},
		"itself too":          {20, message{sequence: 9, previous: 8, number: 4, input: 5}, 1, nil},
		"still there":         {8, message{sequence: 9, previous: 8, number: 4, input: 5}, 0, []string{"after message 8", "2 are missing"}},
		"removed, input back": {9, message{sequence: 9, previous: 8, number: 4, input: 4}, 1, []string{"answers record 4"}},
		"no room for any":     {9, message{sequence: 9, previous: 8, number: 2, input: 5}, 0, []string{"after message 8"}},
		"twice":               {9, message{sequence: 9, previous: 8, number: 1, input: 5}, 0, []string{"after message 8", "made twice"}},
		"nothing between":     {9, message{sequence: 9, previous: 1, number: 4, input: 5}, 0, []string{"2 are missing"}},
		"from before":         {9, message{sequence: 9, previous: 0, number: 4, input: 5}, 0, []string{"after message 0", "2 are missing"}},
	} {
		r := checkBehind(c.first, read, c.next)
		if r.Removed != c.removed || r.HoleCount != len(c.want) {
			t.Errorf("%s: %+v", name, r)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(r.Holes[i].What, want) {
				t.Errorf("%s: %q, want %q", name, r.Holes[i].What, want)
			}
		}
		var out strings.Builder
		if r.Print(&out, strings.ToUpper); strings.Contains(out.String(), "1 gaps are no holes") != (c.removed == 1) {
			t.Errorf("%s: %s", name, &out)
		}
	}
	c := Checker{Removed: func(string, string, uint64) (bool, error) { return false, errors.New("no answer") }}
	first, later := &decisionlog.Decided{}, &decisionlog.Decided{Previous: 8}
	first.Entry.Decision, later.Entry.Decision = 1, 4
	if err := errors.Join(c.Take(1, first), c.Take(9, later)); err == nil {
		t.Error("that nothing is known of what is missing is not told")
	}
}

func TestWhatChangesIsCounted(t *testing.T) {
	r := check(message{sequence: 1, number: 1, node: 1, config: "a"}, message{sequence: 2, previous: 1, number: 2, node: 2, config: "a"},
		message{sequence: 3, previous: 2, number: 3, node: 2, config: "b"}, message{sequence: 4, previous: 3, number: 8, node: 1, config: "b", rejoined: true})
	if r.TakeOvers != 2 || r.Changes != 1 || r.Nodes != 2 || r.Rejoined != 1 || r.Configs["a"] != 2 || r.HoleCount != 0 {
		t.Errorf("%+v", r)
	}
}

func TestManyHolesAreCounted(t *testing.T) {
	var c Checker
	for i := range uint64(500) {
		c.Damaged("w", "q", i+1, errors.New("x\x1b[2J"))
	}
	r := c.Report()
	var out strings.Builder
	r.Print(&out, func(s string) string { return strings.ReplaceAll(s, "\x1b", "?") })
	if r.HoleCount != 500 || len(r.Holes) != maxHoles || !strings.Contains(out.String(), "and 400 more") || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%d, %d: %s", r.HoleCount, len(r.Holes), out.String())
	}
	if slices.ContainsFunc(r.Holes, func(h Hole) bool { return h.Sequence > maxHoles }) {
		t.Error("not the first ones")
	}
}
