package telemetry

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"reflect"
	"slices"
)

// ErrDecisionFormat says that a decision log has a version that this package
// does not read.
var ErrDecisionFormat = errors.New("telemetry: decision log: unknown format")

// DecisionError says where a decision log is damaged.
type DecisionError struct {
	Offset int64  // of the value's first byte in the log
	Entry  int    // how many entries were read before it
	Field  string // dotted, empty if the value as a whole is meant
	Err    error
}

// Error names the place, the field and what is wrong.
func (e *DecisionError) Error() string {
	where := fmt.Sprintf("after entry %d, at byte %d", e.Entry, e.Offset)
	if e.Field != "" {
		where += ": " + e.Field
	}
	return fmt.Sprintf("telemetry: decision log: %s: %v", where, e.Err)
}

// Unwrap returns what is wrong.
func (e *DecisionError) Unwrap() error { return e.Err }

// maxUnknown bounds the unknown keys that are remembered.
const maxUnknown = 16

// DecisionReader reads a decision log. Nothing in it is trusted: memory is
// bounded by MaxDecisionBytes whatever the log says.
type DecisionReader struct {
	src     *bufio.Reader
	offset  int64 // of the next value
	entries int
	header  *DecisionHeader
	damaged bool // find the next header first
	r       reader
	names   interner
	unknown map[string]struct{}
}

// NewDecisionReader returns a reader of the log in src.
func NewDecisionReader(src io.Reader) *DecisionReader {
	return &DecisionReader{src: bufio.NewReaderSize(src, 4*MaxDecisionBytes), unknown: make(map[string]struct{})}
}

// Header returns the header that the last entry was made under, or nil if
// there was none yet. It is not changed by later calls of Next.
func (d *DecisionReader) Header() *DecisionHeader { return d.header }

// Unknown returns the dotted names of fields that the log has and this version
// does not know, sorted, at most 16 of them. What depended on them may not
// replay.
func (d *DecisionReader) Unknown() []string { return slices.Sorted(maps.Keys(d.unknown)) }

// Next reads the next decision into e, and returns io.EOF at the end of the
// log. A *DecisionError says that the log is damaged, or ends within a value;
// the next call then goes on at the next header, if there is one. Any other
// error is that of the source.
func (d *DecisionReader) Next(e *DecisionEntry) error {
	if d.damaged {
		if err := d.resume(); err != nil {
			return err
		}
	}
	for {
		window, err := d.window()
		if err != nil {
			return err
		}
		d.r = reader{b: window}
		isEntry, bad := d.value(e)
		if bad != nil {
			d.damaged = true
			return &DecisionError{Offset: d.offset, Entry: d.entries, Field: bad.field, Err: bad.err}
		}
		if err := d.skip(d.r.i); err != nil {
			return err
		}
		if isEntry {
			d.entries++
			return nil
		}
	}
}

// window returns what is left of the log, at most one byte more than a value may have.
func (d *DecisionReader) window() ([]byte, error) {
	b, err := d.src.Peek(MaxDecisionBytes + 1)
	switch {
	case len(b) > 0 && (err == nil || err == io.EOF):
		return b, nil
	case err == io.EOF:
		return nil, io.EOF
	}
	return nil, fmt.Errorf("telemetry: decision log: %w", err)
}

func (d *DecisionReader) skip(n int) error {
	d.offset += int64(n)
	_, err := d.src.Discard(n)
	return err
}

// resume steps over the first byte of a damaged value and on to the next header.
func (d *DecisionReader) resume() error {
	if err := d.skip(1); err != nil {
		return err
	}
	for {
		window, err := d.window()
		if err != nil {
			return err
		}
		if at := bytes.Index(window, []byte(decisionHeaderMark)); at >= 0 {
			d.damaged = false
			return d.skip(at)
		}
		// The window may end within a mark.
		if err := d.skip(max(1, len(window)-len(decisionHeaderMark)+1)); err != nil {
			return err
		}
	}
}

// layoutFault is why a value was refused. The field's name grows on the way out.
type layoutFault struct {
	field string
	err   error
}

func (f *layoutFault) within(name string) *layoutFault {
	if f.field == "" || f.field[0] == '[' {
		f.field = name + f.field
	} else {
		f.field = name + "." + f.field
	}
	return f
}

// value decodes a value of the log. It is an entry, or a header, which it
// keeps, or something else, which it steps over.
func (d *DecisionReader) value(e *DecisionEntry) (isEntry bool, bad *layoutFault) {
	kind, body, after, bad := d.frame()
	if bad != nil {
		return false, bad
	}
	d.r = reader{b: d.r.b[:body.to], i: body.from}
	switch kind {
	case decisionHeaderKey:
		bad = d.newHeader()
	case decisionEntryKey:
		isEntry, bad = true, d.entry(e)
	default:
		d.note(kind)
	}
	d.r.i = after
	return isEntry, bad
}

// span is a range of bytes in the window.
type span struct{ from, to int }

// frame steps over a value whose sum is right.
func (d *DecisionReader) frame() (kind string, body span, after int, bad *layoutFault) {
	isMap := d.r.accept(decisionMap)
	if _, code := headAt(d.r.b, 0); !isMap && code == accepted {
		return "", body, 0, &layoutFault{err: fmt.Errorf("got %s, want a map of two", d.r.describe())}
	}
	key, code := d.r.str(MaxToken)
	if code == refuseType {
		return "", body, 0, &layoutFault{err: fmt.Errorf("got %s, want a key", d.r.describe())}
	}
	body.from = d.r.i
	if !isMap || code != accepted || d.r.skip() != accepted {
		return "", body, 0, d.torn()
	}
	body.to = d.r.i
	if !d.r.accept(decisionSumMark) {
		return "", body, 0, d.torn()
	}
	sum, code := d.r.uint()
	if code != accepted {
		return "", body, 0, d.torn()
	}
	if sum != uint64(crc32.Checksum(d.r.b[:body.to], castagnoli)) {
		return "", body, 0, &layoutFault{err: errors.New("damaged: the sum does not match")}
	}
	return d.names.get(key), body, d.r.i, nil
}

// torn is a value that does not end in the window.
func (d *DecisionReader) torn() *layoutFault {
	if len(d.r.b) > MaxDecisionBytes {
		return &layoutFault{err: fmt.Errorf("damaged, or longer than %d bytes", MaxDecisionBytes)}
	}
	return &layoutFault{err: errors.New("damaged, or the log ends within a value")}
}

func (d *DecisionReader) newHeader() *layoutFault {
	h := new(DecisionHeader)
	if bad := d.decode(decisionHeaderLayout, reflect.ValueOf(h).Elem()); bad != nil {
		return bad.within("header")
	}
	if err := h.check(); err != nil {
		return (&layoutFault{err: err}).within("header")
	}
	d.header = h
	return nil
}

func (d *DecisionReader) entry(e *DecisionEntry) *layoutFault {
	if d.header == nil {
		return &layoutFault{err: errors.New("a decision without a header before it")}
	}
	*e = DecisionEntry{}
	if bad := d.decode(decisionEntryLayout, reflect.ValueOf(e).Elem()); bad != nil {
		return bad
	}
	if !ValidToken(e.Worker) || !ValidToken(e.Queue) {
		return &layoutFault{err: fmt.Errorf("worker %.64q and queue %.64q are not both tokens", e.Worker, e.Queue)}
	}
	return nil
}

// check refuses what a decision cannot be made under.
func (h *DecisionHeader) check() error {
	if h.Format != DecisionFormat {
		return fmt.Errorf("%w %d, want %d", ErrDecisionFormat, h.Format, DecisionFormat)
	}
	return h.Config.Validate()
}

func (d *DecisionReader) note(name string) {
	if len(d.unknown) < maxUnknown {
		d.unknown[name] = struct{}{}
	}
}
