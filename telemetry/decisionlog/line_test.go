package decisionlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"ringmaster/megakernel/policy"
)

// someLines are a header's line and those of n decisions of one queue.
func someLines(n int) (lines [][]byte) {
	section := NewSection(&Header{Incarnation: 7, Config: policy.Standard()})
	lines = append(lines, section.AppendHeader(nil))
	for i := range n {
		lines = append(lines, section.Append(nil, &Entry{Worker: "w", Queue: "q", Decision: uint64(i + 1), Undecided: true}))
	}
	return lines
}

func TestDecisionsAndDamageComeInTheirOrderOverManyBatches(t *testing.T) {
	lines := someLines(3*batchLines + 5)
	damaged := map[int]bool{}
	for _, i := range []int{2, batchLines - 1, batchLines, batchLines + 1, 2*batchLines + 7, len(lines) - 1} {
		damaged[i] = true
		lines[i][len(lines[i])/2] ^= 1
	}
	r := NewReader(bytes.NewReader(bytes.Join(lines, nil)))
	entries, offset := 0, int64(len(lines[0]))
	for i := 1; i < len(lines); i++ {
		var e Entry
		err := r.Next(&e)
		var damage *DamageError
		switch {
		case !damaged[i]:
			if entries++; err != nil || e.Decision != uint64(i) {
				t.Fatalf("line %d: decision %d, %v", i+1, e.Decision, err)
			}
		case !errors.As(err, &damage):
			t.Fatalf("line %d: %v", i+1, err)
		case damage.Line != i+1 || damage.Offset != offset || damage.Entries != entries:
			t.Fatalf("line %d, at byte %d, after %d decisions: %v", i+1, offset, entries, damage)
		}
		offset += int64(len(lines[i]))
	}
	if err := r.Next(new(Entry)); err != io.EOF {
		t.Error(err)
	}
}

func TestSourceFailsBehindTheDecisionsThatItGave(t *testing.T) {
	failed := errors.New("the disk is gone")
	r := NewReader(io.MultiReader(bytes.NewReader(bytes.Join(someLines(3), nil)), iotest.ErrReader(failed)))
	for i := range 3 {
		var e Entry
		if err := r.Next(&e); err != nil || e.Decision != uint64(i+1) {
			t.Fatalf("decision %d, %v", e.Decision, err)
		}
	}
	if err := r.Next(new(Entry)); !errors.Is(err, failed) {
		t.Error(err)
	}
}

func TestCutFindsWhatParseFinds(t *testing.T) {
	text := bytes.TrimSpace(someLines(1)[1])
	cut, parsed := line{text: text}, line{text: text}
	entry, ok := cut.cut()
	want, err := parsed.parse()
	if !ok || err != nil || !bytes.Equal(entry, want) || cut.kind != parsed.kind || cut.id != parsed.id {
		t.Fatalf("%s: cut %t %s %q %s, parsed %s %q %s, %v", text, ok, cut.kind, cut.id, entry, parsed.kind, parsed.id, want, err)
	}
	for n := range text {
		if _, ok := (&line{text: text[:n]}).cut(); ok {
			t.Errorf("the first %d bytes are cut", n)
		}
		damaged := bytes.Clone(text)
		damaged[n] ^= 1
		if _, ok := (&line{text: damaged}).cut(); ok {
			t.Errorf("damage at byte %d is not seen", n)
		}
	}
}

func TestLineOfAnotherWriterIsRead(t *testing.T) {
	lines := someLines(1)
	var l line
	l.text = bytes.TrimSpace(lines[1])
	entry, ok := l.cut()
	if !ok {
		t.Fatal("not a line of this writer")
	}
	lines[1] = fmt.Appendf(nil, `{ "crc32c":%q, "id":%q, "entry":%s, "type":"decision" }`, sumOf(l.kind, l.id, entry), l.id, entry)
	var e Entry
	if err := NewReader(bytes.NewReader(bytes.Join(lines, nil))).Next(&e); err != nil || e.Decision != 1 {
		t.Errorf("decision %d, %v", e.Decision, err)
	}
}

func TestEntryWithMoreBehindItIsDamaged(t *testing.T) {
	lines := someLines(1)
	l := line{text: bytes.TrimSpace(lines[1])}
	entry, _ := l.cut()
	lines[1] = appendLine(nil, typeDecision, l.id, fmt.Appendf(nil, `%s,"entry":%s`, entry, entry))
	err := NewReader(bytes.NewReader(bytes.Join(lines, nil))).Next(new(Entry))
	if err == nil || !strings.Contains(err.Error(), "line 2, ") || !strings.Contains(err.Error(), "after top-level value") {
		t.Errorf("%v", err)
	}
}
