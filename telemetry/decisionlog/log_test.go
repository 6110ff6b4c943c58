package decisionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"ringmaster/megakernel/policy"
)

func testHeader() *Header {
	return &Header{Incarnation: 7, Software: "test", Config: policy.Standard()}
}

// draw fills a value of a log with anything that the log can hold.
func draw(t *rapid.T, v reflect.Value) {
	if names := namesOf(v.Type()); names > 0 {
		v.SetUint(uint64(rapid.IntRange(0, names-1).Draw(t, "enumeration")))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, v.Field(i))
		}
	case reflect.Array:
		for i := range v.Len() {
			draw(t, v.Index(i))
		}
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.String:
		v.SetString(rapid.String().Draw(t, "text"))
	case reflect.Int64:
		v.SetInt(rapid.Int64().Draw(t, "int"))
	default:
		n := rapid.Uint64().Draw(t, "uint")
		v.SetUint(n >> (64 - v.Type().Bits()))
	}
}

// namesOf is how many values a type has that are written by name, 0 for every other type. Those
// of an enumeration are counted by their names: a value beyond them says its number.
func namesOf(t reflect.Type) int {
	switch t {
	case reflect.TypeFor[policy.Presence]():
		return int(policy.HasFrontierEdges) * 2
	case reflect.TypeFor[policy.TunedAxes]():
		return int(policy.TunedDepth) * 2
	}
	if t.Kind() != reflect.Uint8 || !t.Implements(reflect.TypeFor[fmt.Stringer]()) {
		return 0
	}
	for n := range math.MaxUint8 {
		v := reflect.New(t).Elem()
		v.SetUint(uint64(n))
		if strings.Contains(v.Interface().(fmt.Stringer).String(), "(") {
			return n
		}
	}
	return math.MaxUint8
}

func drawEntry(t *rapid.T) *Entry {
	e := new(Entry)
	draw(t, reflect.ValueOf(e).Elem())
	e.Worker, e.Queue = "w", "q"
	return e
}

func entryNo(number uint64) *Entry {
	return &Entry{Worker: "w", Queue: "q", Decision: number, Request: policy.Request{QueueLen: uint32(number) * 100}, Error: "no limits", Undecided: true}
}

// sample is a log of two sections with three decisions each.
func sample() []byte {
	first, second := testHeader(), testHeader()
	second.Incarnation = 8
	var log []byte
	for i, h := range []*Header{first, second} {
		s := NewSection(h)
		log = s.AppendHeader(log)
		for n := range uint64(3) {
			log = s.Append(log, entryNo(uint64(3*i)+n+1))
		}
	}
	return log
}

// read returns the numbers of the decisions of a log, and what is damaged.
func read(t testing.TB, log []byte) (decisions []uint64, damage []*DamageError, unknown []string) {
	t.Helper()
	r := NewReader(bytes.NewReader(log))
	for calls := 0; ; calls++ {
		if calls > len(log)+1 {
			t.Fatal("the reader does not end")
		}
		var e Entry
		err := r.Next(&e)
		var d *DamageError
		switch {
		case err == io.EOF:
			return decisions, damage, r.Unknown()
		case errors.As(err, &d):
			damage = append(damage, d)
		case err != nil:
			t.Fatal(err)
		default:
			if r.Header() == nil {
				t.Fatal("a decision without a header")
			}
			decisions = append(decisions, e.Decision)
		}
	}
}

func TestEveryDecisionSurvivesTheLog(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := NewSection(testHeader())
		log := s.AppendHeader(nil)
		var want []*Entry
		for range rapid.IntRange(1, 5).Draw(t, "entries") {
			want = append(want, drawEntry(t))
			log = s.Append(log, want[len(want)-1])
		}
		r := NewReader(iotest.HalfReader(bytes.NewReader(log)))
		for i, w := range want {
			var got Entry
			if err := r.Next(&got); err != nil {
				t.Fatalf("entry %d: %v\n%s", i, err, log)
			}
			wantText := w.Error
			w.Error = strings.ToValidUTF8(w.Error, "\ufffd")
			if got != *w {
				t.Fatalf("entry %d (%q) came back as\n%+v, want\n%+v", i, wantText, got, *w)
			}
			if h := testHeader(); r.Header().Config != h.Config || r.Header().Incarnation != h.Incarnation || r.Header().Software != h.Software || r.Header().Format != Format {
				t.Fatalf("header %+v", r.Header())
			}
		}
		if err := r.Next(new(Entry)); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}

func TestLogHasTheDocumentedBytes(t *testing.T) {
	h := &Header{Incarnation: 0xfeed, Software: "v1", Config: policy.Config{SparseFrontierBps: 500, FitBudget: true}}
	e := &Entry{Worker: "w", Queue: "q", Decision: 3, Records: Records{Incarnation: 0x1234567890abcdef, First: 1, Last: 2, SentNs: 5}}
	e.Request.QueueLen, e.Request.Present = 7, policy.HasMemoryPressure
	e.Before.Topology.Topology = policy.TopologySparse
	e.Plan.Tuned = policy.TunedWidth | policy.TunedGroups
	s := NewSection(h)
	got := string(s.Append(s.AppendHeader(nil), e))
	want := `{"type":"header","id":"7e0f374a","entry":{"format":2,"incarnation":"000000000000feed","software":"v1","config":{"sparse_frontier_bps":500,"fit_budget":true}},"crc32c":"9bff741d"}
{"type":"decision","id":"7e0f374a","entry":{"worker":"w","queue":"q","decision":3,"records":{"incarnation":"1234567890abcdef","first":1,"last":2,"sent_ns":5},"request":{"queue_len":7,"present":"memory_pressure"},"before":{"topology":{"topology":"sparse_frontier"}},"plan":{"tuned":"width,groups"}},"crc32c":"ebc2d20d"}
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A field without its key would be written under its Go name, and a zero would not be left out.
func TestEveryFieldHasASnakeCaseKeyAndLeavesItsZeroOut(t *testing.T) {
	var check func(t *testing.T, typ reflect.Type)
	check = func(t *testing.T, typ reflect.Type) {
		if typ.Kind() == reflect.Array {
			check(t, typ.Elem())
		}
		if typ.Kind() != reflect.Struct {
			return
		}
		for f := range typ.Fields() {
			key, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			if key == "" || key != strings.ToLower(key) || strings.ReplaceAll(key, "_", "") != strings.ToLower(f.Name) || option != "omitzero" {
				t.Errorf(`%v.%s has the tag %q, want json:"its_name,omitzero"`, typ, f.Name, f.Tag)
			}
			check(t, f.Type)
		}
	}
	check(t, reflect.TypeFor[Header]())
	check(t, reflect.TypeFor[Entry]())
}

func TestDamageAtAnyByteIsLocatedAndCostsItsLineOrItsSection(t *testing.T) {
	whole := sample()
	lines := bytes.SplitAfter(whole, []byte("\n"))
	lost := map[int][]uint64{0: {1, 2, 3}, 1: {1}, 2: {2}, 3: {3}, 4: {4, 5, 6}, 5: {4}, 6: {5}, 7: {6}} // by line
	line, begin := 0, 0
	for at := range whole {
		if at == begin+len(lines[line]) {
			begin += len(lines[line])
			line++
		}
		log := bytes.Clone(whole)
		switch at % 3 {
		case 0:
			log[at] ^= 1
		case 1:
			log[at] ^= 0x80
		case 2:
			if log[at] = '\n'; whole[at] == '\n' {
				log[at] = ' '
			}
		}
		if at == len(whole)-1 && log[at] == ' ' {
			continue // white space for the end of the last line damages nothing
		}
		got, damage, _ := read(t, log)
		var want []uint64
		newline := whole[at] == '\n' && line < 7
		for n := range uint64(6) {
			if !slices.Contains(lost[line], n+1) && !(newline && slices.Contains(lost[line+1], n+1)) {
				want = append(want, n+1)
			}
		}
		if len(damage) == 0 || !slices.Equal(got, want) {
			t.Fatalf("byte %d (%q) of line %d became %q: read %v, want %v; %v", at, whole[at], line+1, log[at], got, want, damage)
		}
		if d := damage[0]; d.Line != line+1 && d.Line != line+2 || d.Offset > int64(at)+1 {
			t.Fatalf("byte %d of line %d: %v", at, line+1, d)
		}
	}
}

func TestTruncatedLogKeepsItsWholeLines(t *testing.T) {
	whole := sample()
	for n := range whole {
		log := whole[:n]
		got, damage, _ := read(t, log)
		complete := bytes.Count(log, []byte("\n"))
		if n > 0 && whole[n-1] == '}' && whole[n] == '\n' {
			complete++ // a line without its line feed is whole
		}
		decisions := max(0, complete-1)
		if complete > 4 {
			decisions--
		}
		torn := n > 0 && log[n-1] != '\n' && whole[n] != '\n'
		if len(got) != decisions || (len(damage) > 0) != torn {
			t.Fatalf("cut at byte %d: %d decisions, want %d: %v", n, len(got), decisions, damage)
		}
	}
}

func TestLinesThatDoNotBelongInALogAreNamed(t *testing.T) {
	s := NewSection(testHeader())
	line := func(kind, id, entry string) string { return string(appendLine(nil, kind, id, []byte(entry))) }
	header, one := string(s.AppendHeader(nil)), string(s.Append(nil, entryNo(1)))
	other := NewSection(&Header{Incarnation: 9, Config: policy.Reference()})
	for name, c := range map[string]struct {
		log       string
		decisions int
		damage    string
		unknown   string
	}{
		"text":                     {"hello\n" + header + one, 1, "line 1, at byte 0, after 0 decisions: damaged, or not a line of a decision log", ""},
		"a binary log of before":   {"\x82\xb4ringmaster_decisions\x80", 0, "not a line of a decision log", ""},
		"no header":                {one + one, 0, `the header "` + s.id + `" of this decision is missing`, ""},
		"another header":           {string(other.AppendHeader(nil)) + one + one, 0, `the header "` + s.id, ""},
		"a later format":           {line("header", "x", `{"format":3}`) + header + one, 1, "the log has format 3, this version reads 2", ""},
		"a policy that cannot be":  {line("header", "x", `{"format":2}`), 0, "header: ", ""},
		"a worker that is no name": {header + line("decision", s.id, `{"worker":"a b","queue":"q"}`) + one, 1, "names of 1 to 64", ""},
		"an unknown topology":      {header + line("decision", s.id, `{"before":{"topology":{"topology":"torus"}}}`) + one, 1, `topology "torus" is none of the names`, ""},
		"a number out of range":    {header + line("decision", s.id, `{"level":4294967296}`) + one, 1, "4294967296", ""},
		"a wrong type":             {header + line("decision", s.id, `{"level":"1"}`) + one, 1, "string", ""},
		"two objects":              {header + strings.TrimSpace(one) + one, 0, "line 2, ", ""},
		"too long":                 {header + line("decision", s.id, `{"error":"`+strings.Repeat("x", 3*MaxLine)+`"}`) + one, 1, "line 2, at byte " + fmt.Sprint(len(header)) + ", after 0 decisions: damaged, or longer than", ""},
		"empty lines":              {"\n\n" + header + "\n" + one + "\n", 1, "", ""},
		"a later type":             {header + line("note", "x", `{}`) + one, 1, "", "note"},
		"a later key":              {header + line("decision", s.id, `{"worker":"w","queue":"q","decision":1,"request":{"colour":1}}`) + one, 2, "", "colour"},
	} {
		t.Run(name, func(t *testing.T) {
			got, damage, unknown := read(t, []byte(c.log))
			if len(got) != c.decisions || len(damage) > 1 || strings.Join(unknown, ",") != c.unknown {
				t.Fatalf("%d decisions, damage %v, unknown %v", len(got), damage, unknown)
			}
			if text := fmt.Sprint(damage); c.damage == "" && len(damage) > 0 || !strings.Contains(text, c.damage) {
				t.Errorf("damage %v, want %q", text, c.damage)
			}
		})
	}
}

func TestReadErrorsAreNotDamage(t *testing.T) {
	broken := errors.New("broken pipe")
	r := NewReader(io.MultiReader(bytes.NewReader(sample()[:100]), iotest.ErrReader(broken)))
	if err := r.Next(new(Entry)); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

func TestPlacesAfterTheLastReasonAreNotWritten(t *testing.T) {
	e := entryNo(1)
	e.Plan.Reasons[1].Held = true
	if got := string(mustMarshal(&e.Plan)); got != `{"reasons":[{},{"held":true}]}` {
		t.Error(got)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	s := NewSection(&Header{Config: policy.Standard(), Software: strings.Repeat("ä", MaxText)})
	e := entryNo(1)
	e.Error = "x" + strings.Repeat("ä", 3*MaxText)
	log := s.Append(s.AppendHeader(nil), e)
	if decisions, damage, _ := read(t, log); len(decisions) != 1 || len(damage) > 0 || len(log) > 3*MaxText+3000 {
		t.Errorf("%d bytes, %d decisions, %v", len(log), len(decisions), damage)
	}
}

func TestDiffNamesEveryFieldOnce(t *testing.T) {
	a, b := entryNo(1), entryNo(1)
	if d := Diff(a, b); len(d) != 0 {
		t.Errorf("equal entries differ: %v", d)
	}
	b.Request.QueueLen, b.Plan.Reasons[1].Held, b.Error, a.After.Plan.Mode = 5, true, "", policy.ModeJIT
	want := []Difference{{"request.queue_len", "100", "5"}, {"after.plan.mode", "jit", "-"}, {"error", "no limits", "-"}, {"plan.reasons[1].held", "-", "true"}}
	if got := Diff(a, b); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(sample())
	f.Add([]byte(`{"type":"header","id":"","entry":{"format":2},"crc32c":"00000000"}`))
	f.Add(bytes.Repeat([]byte("[{"), 20_000))
	f.Fuzz(func(t *testing.T, log []byte) {
		decisions, damage, _ := read(t, log)
		if len(decisions)+len(damage) > bytes.Count(log, []byte("\n"))+1 {
			t.Fatalf("%d decisions and %d damages in %d lines", len(decisions), len(damage), bytes.Count(log, []byte("\n"))+1)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	s, e := NewSection(testHeader()), entryNo(1)
	var log []byte
	b.ReportAllocs()
	for b.Loop() {
		log = s.Append(log[:0], e)
	}
}
