package decisionlog

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
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

// Reader reads a log. Nothing in it is trusted: memory is bounded by MaxLine whatever the
// log says.
type Reader struct {
	src     *bufio.Reader
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
		at := r.offset
		text, err := r.next()
		if err != nil && err != errLong {
			return err
		}
		isEntry := false
		if err == nil {
			isEntry, err = r.parse(text, e)
		}
		if err != nil {
			return &DamageError{Line: r.line, Offset: at, Entries: r.entries, Err: err}
		}
		if isEntry {
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

// parse reads a line. It is a decision, or a header, which it keeps, or something else,
// which it skips.
func (r *Reader) parse(text []byte, e *Entry) (isEntry bool, err error) {
	if len(text) == 0 {
		return false, nil
	}
	var l struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Entry json.RawMessage `json:"entry"`
		CRC   string          `json:"crc32c"`
	}
	if err := json.Unmarshal(text, &l); err != nil {
		return false, fmt.Errorf("damaged, or not a line of a decision log: %w", err)
	}
	if l.CRC != sumOf(l.Type, l.ID, string(l.Entry)) {
		return false, errors.New("damaged: the sum does not match")
	}
	switch l.Type {
	case typeHeader:
		return false, r.begin(l.ID, l.Entry)
	case typeDecision:
		return r.decision(l.ID, l.Entry, e)
	}
	r.note(l.Type)
	return false, nil
}

// begin takes a header.
func (r *Reader) begin(id string, entry []byte) error {
	h := new(Header)
	r.header, r.id = nil, ""
	if err := r.decode(entry, h); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	if err := h.check(); err != nil {
		return fmt.Errorf("header: %w", err)
	}
	r.header, r.id = h, id
	return nil
}

// decision reads a decision. Those without their header are reported once and skipped.
func (r *Reader) decision(id string, entry []byte, e *Entry) (isEntry bool, err error) {
	if r.header == nil || r.id != id {
		if r.missing == id {
			return false, nil
		}
		r.missing = id
		return false, fmt.Errorf("the header %.16q of this decision is missing; all decisions under it are left out", id)
	}
	*e = Entry{}
	if err := r.decode(entry, e); err != nil {
		return false, err
	}
	return true, e.check()
}

// decode reads an entry and remembers a key that it does not know.
func (r *Reader) decode(entry []byte, into any) error {
	strict := json.NewDecoder(bytes.NewReader(entry))
	strict.DisallowUnknownFields()
	err := strict.Decode(into)
	if err == nil {
		return nil
	}
	name, unknown := strings.CutPrefix(err.Error(), "json: unknown field ")
	if !unknown {
		return err
	}
	r.note(strings.Trim(name, `"`))
	return json.Unmarshal(entry, into)
}

func (r *Reader) note(name string) {
	if len(r.unknown) < maxUnknown {
		r.unknown[name[:min(len(name), 64)]] = struct{}{}
	}
}
