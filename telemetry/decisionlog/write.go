package decisionlog

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
)

// Types of lines.
const (
	typeHeader   = "header"
	typeDecision = "decision"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Section appends the lines of one header.
type Section struct {
	header []byte // the entry
	id     string
}

// NewSection returns a section under h with the format of this package.
func NewSection(h *Header) *Section {
	own := *h
	own.Format = Format
	own.Software = cut(own.Software)
	header := mustMarshal(&own)
	return &Section{header: header, id: sumOf("", "", header)}
}

// AppendHeader appends the header's line.
func (s *Section) AppendHeader(dst []byte) []byte {
	return appendLine(dst, typeHeader, s.id, s.header)
}

// Append appends a decision's line. Its error is cut to MaxText.
func (s *Section) Append(dst []byte, e *Entry) []byte {
	if len(e.Error) > MaxText {
		short := *e
		short.Error = cut(e.Error)
		e = &short
	}
	return appendLine(dst, typeDecision, s.id, mustMarshal(e))
}

func appendLine(dst []byte, kind, id string, entry []byte) []byte {
	return fmt.Appendf(dst, `{"type":%q,"id":%q,"entry":%s,"crc32c":%q}`+"\n", kind, id, entry, sumOf(kind, id, entry))
}

// mustMarshal encodes a value that has nothing in it that JSON cannot express.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("decision log: %v", err))
	}
	return b
}

// cut bounds a text. A character that is cut in two is replaced by the encoder.
func cut(text string) string { return text[:min(len(text), MaxText)] }
