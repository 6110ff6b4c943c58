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
	n, i := uint64(0), 0
	for ; i < len(data); i++ {
		d := uint64(data[i] - '0')
		if d > 9 {
			break
		}
		if i >= 19 && (n > math.MaxUint64/10 || n*10 > math.MaxUint64-d) {
			return 0, nil, errBig
		}
		n = n*10 + d
	}
	if i == 0 || i < len(data) && !separates(data[i]) && data[i] != '\n' {
		if data[0] == '-' {
			return 0, nil, errNegative
		}
		return 0, nil, errNumber
	}
	return n, data[i:], nil
}

// weight reads an edge's weight, 0 to maxWeight.
func weight(data []byte, real bool) (uint32, []byte, error) {
	w, rest, err := number(data)
	if err != nil && real && !errors.Is(err, errBig) {
		n := length(data)
		f, ferr := strconv.ParseFloat(string(data[:min(n, 64)]), 64)
		switch {
		case ferr != nil || n > 64:
			return 0, nil, fmt.Errorf("weight %s is no number", word(data))
		case f < 0:
			return 0, nil, fmt.Errorf("weight %s is negative; shortest paths need weights of 0 or more", word(data))
		case f != math.Trunc(f):
			return 0, nil, fmt.Errorf("weight %s is no whole number; scale the weights to whole numbers", word(data))
		case f > maxWeight:
			return 0, nil, fmt.Errorf("weight %s is above %d", word(data), uint32(maxWeight))
		}
		return uint32(f), data[n:], nil
	}
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
