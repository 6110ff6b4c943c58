package graph

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"
)

// maxWeight is the heaviest edge: one less than Unreached.
const maxWeight = Unreached - 1

func separates(c byte) bool { return c == ' ' || c == '\t' || c == ',' || c == '\r' }

// skip skips what separates the numbers of a line.
func skip(data []byte) []byte {
	for i, c := range data {
		if !separates(c) {
			return data[i:]
		}
	}
	return nil
}

// length is the length of the word that data begins with.
func length(data []byte) int {
	for i, c := range data {
		if separates(c) || c == '\n' {
			return i
		}
	}
	return len(data)
}

// word quotes the word that data begins with, cut to a length that fits a message.
func word(data []byte) string {
	w := data[:length(data)]
	if len(w) > 40 {
		w = append(w[:40:40], "…"...)
	}
	if !utf8.Valid(w) {
		return fmt.Sprintf("%x", w)
	}
	return strconv.Quote(string(w))
}

var (
	errNegative = errors.New("is negative")
	errNumber   = errors.New("is no whole number")
	errBig      = errors.New("does not fit 64 bits")
)

// number reads a whole number of 64 bits.
func number(data []byte) (uint64, []byte, error) {
	end := length(data)
	n, err := strconv.ParseUint(string(data[:end]), 10, 64)
	switch {
	case err == nil:
		return n, data[end:], nil
	case errors.Is(err, strconv.ErrRange):
		return 0, nil, errBig
	case end > 0 && data[0] == '-':
		return 0, nil, errNegative
	}
	return 0, nil, errNumber
}

// wholeReal reads a whole number of up to maxWeight that may be written with a point or an exponent.
func wholeReal(data []byte) (uint64, []byte, error) {
	end := length(data)
	f, err := strconv.ParseFloat(string(data[:end]), 64)
	switch {
	case err != nil || f != math.Trunc(f):
		return 0, nil, errNumber
	case f < 0:
		return 0, nil, errNegative
	case f > maxWeight:
		return 0, nil, errBig
	}
	return uint64(f), data[end:], nil
}

// weight reads an edge's weight, 0 to maxWeight.
func weight(data []byte, real bool) (uint32, []byte, error) {
	read := number
	if real {
		read = wholeReal
	}
	w, rest, err := read(data)
	switch {
	case errors.Is(err, errNegative):
		return 0, nil, fmt.Errorf("weight %s is negative; shortest paths need weights of 0 or more", word(data))
	case errors.Is(err, errNumber):
		return 0, nil, fmt.Errorf("weight %s is no whole number; scale the weights to whole numbers", word(data))
	case err != nil || w > maxWeight:
		return 0, nil, fmt.Errorf("weight %s is above %d", word(data), uint32(maxWeight))
	}
	return uint32(w), rest, nil
}
