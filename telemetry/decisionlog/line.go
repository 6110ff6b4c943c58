package decisionlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"runtime"
	"sync"
	"sync/atomic"

	jsonv2 "github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// line is a line of a log, decoded as far as that depends on no other line.
type line struct {
	number int
	offset int64  // of its first byte in the log
	text   []byte // valid until the next batch

	damage  error // it is no line of a log
	kind    string
	id      string
	header  *Header
	entry   Entry
	unknown string // a key of the header or entry that this version does not know
	err     error  // what is wrong with the header or entry
}

// Bounds of a batch, which two cores decode in some milliseconds.
const (
	batchLines = 256
	batchBytes = 256 << 10
)

// batch is the lines that were read and that Next has not returned. They are decoded side by
// side, because decoding takes most of the time of reading and no line depends on another;
// they are taken in their order.
type batch struct {
	lines []line
	taken int
	text  []byte
	end   error // why there are no more lines behind these
}

// next returns the next line, which is valid until the next call, or the error of the source.
func (b *batch) next(r *Reader) (*line, error) {
	for b.taken == len(b.lines) {
		if err := b.end; err != nil {
			b.end = nil
			return nil, err
		}
		b.fill(r)
	}
	b.taken++
	return &b.lines[b.taken-1], nil
}

// fill reads and decodes the next lines.
func (b *batch) fill(r *Reader) {
	if b.text == nil {
		b.lines, b.text = make([]line, 0, batchLines), make([]byte, 0, batchBytes+MaxLine)
	}
	b.lines, b.text, b.taken = b.lines[:0], b.text[:0], 0
	for len(b.lines) < batchLines && len(b.text) < batchBytes {
		at, start := r.offset, len(b.text)
		text, err := r.next()
		if err != nil && err != errLong {
			b.end = err
			break
		}
		b.text = append(b.text, text...)
		b.lines = append(b.lines, line{number: r.line, offset: at, text: b.text[start:], damage: err})
	}
	var turn atomic.Int64
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(b.lines)) {
		workers.Go(func() {
			for i := turn.Add(1) - 1; i < int64(len(b.lines)); i = turn.Add(1) - 1 {
				b.lines[i].decode()
			}
		})
	}
	workers.Wait()
}

// decode reads what the line says.
func (l *line) decode() {
	if len(l.text) == 0 || l.damage != nil {
		return
	}
	entry, ok := l.cut()
	if !ok {
		entry, l.damage = l.parse()
	}
	switch {
	case l.damage != nil:
	case l.kind == typeHeader:
		l.header = new(Header)
		if l.unknown, l.err = decode(entry, l.header); l.err == nil {
			l.err = l.header.check()
		}
	case l.kind == typeDecision:
		if l.unknown, l.err = decode(entry, &l.entry); l.err == nil {
			l.err = l.entry.check()
		}
	}
}

// cut takes a decision's line apart at the places that appendLine gives it, which spares
// reading all of its text twice more. It is ok if the sum is that of what was cut.
func (l *line) cut() (entry []byte, ok bool) {
	const before, between, after, end, sum = `{"type":"decision","id":"`, `","entry":`, `,"crc32c":"`, `"}`, 8
	rest, ok := bytes.CutPrefix(l.text, []byte(before))
	rest, isWhole := bytes.CutSuffix(rest, []byte(end))
	if !ok || !isWhole || len(rest) < sum+len(between)+len(after)+sum {
		return nil, false
	}
	id, rest := rest[:sum], rest[sum:]
	rest, crc := rest[:len(rest)-sum], rest[len(rest)-sum:]
	rest, ok = bytes.CutPrefix(rest, []byte(between))
	entry, isWhole = bytes.CutSuffix(rest, []byte(after))
	if !ok || !isWhole || string(crc) != sumOf(typeDecision, string(id), entry) {
		return nil, false
	}
	l.kind, l.id = typeDecision, string(id)
	return entry, true
}

// parse takes any line apart.
func (l *line) parse() (entry []byte, err error) {
	var of struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Entry json.RawMessage `json:"entry"`
		CRC   string          `json:"crc32c"`
	}
	if err := json.Unmarshal(l.text, &of); err != nil {
		return nil, fmt.Errorf("damaged, or not a line of a decision log: %w", err)
	}
	if of.CRC != sumOf(of.Type, of.ID, of.Entry) {
		return nil, errors.New("damaged: the sum does not match")
	}
	l.kind, l.id = of.Type, of.ID
	return of.Entry, nil
}

// asWritten has version 2 of encoding/json read what version 1 writes: a missing place at the end of an array is zero, as
// a missing key is, and a duration is a number of nanoseconds.
var asWritten = jsonv2.JoinOptions(jsonv1.UnmarshalArrayFromAnyLength(true), jsonv1.FormatDurationAsNano(true))

// decode reads an entry, and names a key in it that this version does not know. Version 2 of
// encoding/json takes two fifths of the time of version 1; Go 1.27 has it in its library.
func decode[T any](entry []byte, into *T) (unknown string, err error) {
	err = jsonv2.Unmarshal(entry, into, asWritten, jsonv2.RejectUnknownMembers(true))
	var at *jsonv2.SemanticError
	if !errors.Is(err, jsonv2.ErrUnknownName) || !errors.As(err, &at) {
		return "", err
	}
	*into = *new(T)
	return at.JSONPointer.LastToken(), jsonv2.Unmarshal(entry, into, asWritten)
}

// sumOf is the CRC-32C of a line's texts back to back, as eight hexadecimal digits.
func sumOf(kind, id string, entry []byte) string {
	sum := crc32.Update(0, castagnoli, []byte(kind))
	sum = crc32.Update(sum, castagnoli, []byte(id))
	return fmt.Sprintf("%08x", crc32.Update(sum, castagnoli, entry))
}
