package trace

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

//go:embed data/azure-llm-2023-conv.csv.gz
var requestData []byte

// Request is one arrival of the trace.
type Request struct {
	At        time.Duration // since the first arrival
	Context   uint32        // tokens of the prompt
	Generated uint32        // tokens of the answer
}

// Tokens is what the request occupies in the key-value cache.
func (r Request) Tokens() uint64 { return uint64(r.Context) + uint64(r.Generated) }

// PrefillSlots is the number of slots the request submits to queue prefill.
func (r Request) PrefillSlots() int {
	return int(r.Context+TokensPerPrefillSlot-1) / TokensPerPrefillSlot
}

// DecodeSlots is the number of slots the request submits to queue decode.
func (r Request) DecodeSlots() int { return int(r.Generated) }

// Requests reads the bundled arrivals, in order.
func Requests() ([]Request, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(requestData))
	if err != nil {
		return nil, fmt.Errorf("trace: bundled arrivals: %w", err)
	}
	return Read(unzipped)
}

// Read reads arrivals, in order, from CSV: a line of names, then a time, the tokens of the prompt and those of the
// answer, as in the bundled data.
func Read(from io.Reader) ([]Request, error) {
	rows := csv.NewReader(from)
	rows.FieldsPerRecord = 3
	rows.ReuseRecord = true
	if _, err := rows.Read(); err != nil {
		return nil, fmt.Errorf("trace: header of the arrivals: %w", err)
	}
	var requests []Request
	var start time.Time
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return requests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("trace: arrivals: %w", err)
		}
		at, request, err := parseRequest(row)
		if err != nil {
			line, _ := rows.FieldPos(0)
			return nil, fmt.Errorf("trace: arrivals line %d: %w", line, err)
		}
		if start.IsZero() {
			start = at
		}
		request.At = at.Sub(start)
		requests = append(requests, request)
	}
}

func parseRequest(row []string) (time.Time, Request, error) {
	at, err := time.Parse("2006-01-02 15:04:05.9999999", row[0])
	if err != nil {
		return at, Request{}, err
	}
	context, err := strconv.ParseUint(row[1], 10, 32)
	if err != nil {
		return at, Request{}, err
	}
	generated, err := strconv.ParseUint(row[2], 10, 32)
	return at, Request{Context: uint32(context), Generated: uint32(generated)}, err
}
