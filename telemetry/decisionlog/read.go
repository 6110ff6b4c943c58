package decisionlog

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"slices"
)

// DamageError says where a log is damaged.
type DamageError struct {
	Line    int   // from 1
	Offset  int64 // of the line's first byte in the log
	Entries int   // decisions that were read before it
	Err     error
}

// Error names the place and what is wrong.
func (e *DamageError) Error() string {
	return fmt.Sprintf("line %d, at byte %d, after %d decisions: %v", e.Line, e.Offset, e.Entries, e.Err)
}

// Unwrap returns what is wrong.
func (e *DamageError) Unwrap() error { return e.Err }

// maxUnknown bounds the unknown keys that are remembered.
const maxUnknown = 16

// Reader reads a log. Nothing in it is trusted: memory is bounded by MaxLine and by batchBytes
// whatever the log says.
type Reader struct {
	src     *bufio.Reader
	batch   batch
	line    int
	offset  int64 // of the next line
	entries int
	header  *Header
	id      string // of header
	missing string // id of a header that was reported as missing
	unknown map[string]struct{}
}

// NewReader returns a reader of the log in src.
func NewReader(src io.Reader) *Reader {
	return &Reader{src: bufio.NewReaderSize(src, MaxLine+1), unknown: make(map[string]struct{})}
}

// Header returns the header that the last decision was made under, or nil if there was
// none yet. It is not changed by later calls of Next.
func (r *Reader) Header() *Header { return r.header }

// Unknown returns the names of keys and of types of lines that the log has and this version
// does not know, sorted, at most 16 of them. What depended on them may not replay.
func (r *Reader) Unknown() []string { return slices.Sorted(maps.Keys(r.unknown)) }

// Next reads the next decision into e, and returns io.EOF at the end of the log. A
// *DamageError says that a line is damaged or has no header; the next call goes on behind
// it. Any other error is that of the source.
func (r *Reader) Next(e *Entry) error {
	for {
		l, err := r.batch.next(r)
		if err != nil {
			return err
		}
		isEntry, err := r.take(l)
		if err != nil {
			return &DamageError{Line: l.number, Offset: l.offset, Entries: r.entries, Err: err}
		}
		if isEntry {
			*e = l.entry
			r.entries++
			return nil
		}
	}
}

var errLong = fmt.Errorf("damaged, or longer than %d bytes", MaxLine)

// next returns the next line, which is valid until the next call, or errLong behind one
// that is too long.
func (r *Reader) next() ([]byte, error) {
	text, err := r.src.ReadSlice('\n')
	r.line++
	r.offset += int64(len(text))
	long := err == bufio.ErrBufferFull
	for err == bufio.ErrBufferFull {
		var more []byte
		more, err = r.src.ReadSlice('\n')
		r.offset += int64(len(more))
	}
	switch {
	case err != nil && err != io.EOF:
		return nil, fmt.Errorf("read the decision log: %w", err)
	case long:
		return nil, errLong
	case err == io.EOF && len(text) == 0:
		return nil, io.EOF
	}
	return bytes.TrimSuffix(text, []byte("\n")), nil
}

// take takes a line in its turn. It is a decision, or a header, which it keeps, or something
// else, which it skips. Decisions without their header are reported once and skipped.
func (r *Reader) take(l *line) (isEntry bool, err error) {
	switch {
	case l.damage != nil:
		return false, l.damage
	case l.kind == typeHeader:
		r.header, r.id = nil, ""
		r.note(l.unknown)
		if l.err != nil {
			return false, fmt.Errorf("header: %w", l.err)
		}
		r.header, r.id = l.header, l.id
		return false, nil
	case l.kind != typeDecision:
		r.note(l.kind)
		return false, nil
	case r.header == nil || r.id != l.id:
		if r.missing == l.id {
			return false, nil
		}
		r.missing = l.id
		return false, fmt.Errorf("the header %.16q of this decision is missing; all decisions under it are left out", l.id)
	}
	r.note(l.unknown)
	return l.err == nil, l.err
}

// note remembers a name that this version does not know, if there is one.
func (r *Reader) note(name string) {
	if name != "" && len(r.unknown) < maxUnknown {
		r.unknown[name[:min(len(name), 64)]] = struct{}{}
	}
}
