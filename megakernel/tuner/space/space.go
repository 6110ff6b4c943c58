package space

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// Bounds of a space, so that a hostile file cannot ask for unbounded memory.
const (
	MaxParams  = 64      // parameters of a space
	MaxLevels  = 4_096   // values of a parameter
	MaxConfigs = 1 << 16 // configurations of a space
)

// ErrSpace says that a space's description is impossible: no parameters, too many values or
// combinations, or two configurations that are the same.
var ErrSpace = errors.New("impossible space")

// Param is one parameter and the values it can take.
type Param struct {
	Name   string
	Values []string // by level
	// Numbers are the values as numbers, ascending; nil if one of them is not a number.
	Numbers []float64
	// Coords are the positions of the levels in 0..1. That of a number is the mean
	// of the scaled level and the scaled logarithm, so that 1, 2, 4, 8 are evenly
	// spaced and 240 is near 248; that of a text is the scaled level.
	Coords []float64
}

// Ints returns a parameter with ascending integer values.
func Ints(name string, values ...int) Param {
	text := make([]string, len(values))
	for i, v := range values {
		text[i] = strconv.Itoa(v)
	}
	p, _ := NewParam(name, text)
	return p
}

// NewParam orders the values and returns the level of each, in the order given.
// Values that are the same number have the same level.
func NewParam(name string, values []string) (Param, []uint16) {
	p := Param{Name: name}
	order := make([]int, len(values))
	numbers := make([]float64, len(values))
	numeric := true
	for i, v := range values {
		order[i] = i
		n, err := strconv.ParseFloat(v, 64)
		numeric = numeric && err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
		numbers[i] = n
	}
	slices.SortStableFunc(order, func(a, b int) int {
		if numeric {
			return cmp.Compare(numbers[a], numbers[b])
		}
		return cmp.Compare(values[a], values[b])
	})
	levels := make([]uint16, len(values))
	for rank, i := range order {
		same := rank > 0 && (values[i] == values[order[rank-1]] || numeric && numbers[i] == numbers[order[rank-1]])
		if !same {
			p.Values = append(p.Values, values[i])
			if numeric {
				p.Numbers = append(p.Numbers, numbers[i])
			}
		}
		levels[i] = uint16(len(p.Values) - 1)
	}
	p.Coords = coordinates(len(p.Values), p.Numbers)
	return p, levels
}

func coordinates(n int, numbers []float64) []float64 {
	coords := make([]float64, n)
	if n < 2 {
		return coords
	}
	var low, span float64
	if numbers != nil {
		low = numbers[0]
		span = math.Log1p(numbers[n-1] - low)
		if low > 0 {
			span = math.Log(numbers[n-1] / low)
		}
	}
	for i := range coords {
		level := float64(i) / float64(n-1)
		coords[i] = level
		if span > 0 && !math.IsInf(span, 0) {
			log := math.Log1p(numbers[i] - low)
			if low > 0 {
				log = math.Log(numbers[i] / low)
			}
			coords[i] = (level + log/span) / 2
		}
	}
	return coords
}

// Space is a set of valid configurations. It is immutable and may be shared.
type Space struct {
	params []Param
	levels []uint16 // configuration by configuration
	index  map[uint64]int32
	stride []uint64 // weight of each parameter in a configuration's key
}

// Product returns the space of all combinations that valid accepts; nil accepts
// all. It calls valid with the level of each parameter, in a slice that is reused.
// More than MaxConfigs combinations are an error that wraps ErrSpace.
func Product(params []Param, valid func(levels []uint16) bool) (*Space, error) {
	total := 1
	for _, p := range params {
		if len(p.Values) == 0 {
			return nil, fmt.Errorf("%w: parameter %q has no values", ErrSpace, p.Name)
		}
		if total *= len(p.Values); total > MaxConfigs {
			return nil, fmt.Errorf("%w: more than %d combinations", ErrSpace, MaxConfigs)
		}
	}
	var levels []uint16
	at := make([]uint16, len(params))
	for range total {
		if valid == nil || valid(at) {
			levels = append(levels, at...)
		}
		for j := len(at) - 1; j >= 0; j-- {
			if at[j]++; int(at[j]) < len(params[j].Values) {
				break
			}
			at[j] = 0
		}
	}
	return New(params, levels)
}

// DuplicateError names two configurations that are the same.
type DuplicateError struct{ First, Second int }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("configurations %d and %d are the same", e.First, e.Second)
}

// Unwrap is ErrSpace.
func (e *DuplicateError) Unwrap() error { return ErrSpace }

// New returns the space of the configurations given by the levels of their parameters, one after
// the other. The error wraps ErrSpace; two that are the same are a *DuplicateError.
func New(params []Param, levels []uint16) (*Space, error) {
	switch {
	case len(params) == 0:
		return nil, fmt.Errorf("%w: no parameters", ErrSpace)
	case len(params) > MaxParams:
		return nil, fmt.Errorf("%w: %d parameters, at most %d are allowed", ErrSpace, len(params), MaxParams)
	case len(levels) == 0:
		return nil, fmt.Errorf("%w: no valid configuration", ErrSpace)
	}
	s := &Space{params: params, levels: levels, stride: make([]uint64, len(params))}
	weight, high := uint64(1), uint64(0)
	for j, p := range params {
		n := uint64(len(p.Values))
		s.stride[j] = weight
		high, weight = bits.Mul64(weight, n)
		switch {
		case n > MaxLevels:
			return nil, fmt.Errorf("%w: parameter %q has %d values, at most %d are allowed", ErrSpace, p.Name, n, MaxLevels)
		case high > 0:
			return nil, fmt.Errorf("%w: more combinations than 64 bits count", ErrSpace)
		}
	}
	s.index = make(map[uint64]int32, s.Len())
	for c := range s.Len() {
		key := s.key(s.Levels(c))
		if first, taken := s.index[key]; taken {
			return nil, &DuplicateError{int(first), c}
		}
		s.index[key] = int32(c)
	}
	return s, nil
}

func (s *Space) key(levels []uint16) (key uint64) {
	for j, l := range levels {
		key += uint64(l) * s.stride[j]
	}
	return key
}

// Len is the number of valid configurations.
func (s *Space) Len() int { return len(s.levels) / len(s.params) }

// Params are the parameters, not to be changed.
func (s *Space) Params() []Param { return s.params }

// Levels are the levels of a configuration by parameter, not to be changed.
func (s *Space) Levels(config int) []uint16 {
	d := len(s.params)
	return s.levels[config*d : (config+1)*d : (config+1)*d]
}

// Find returns the configuration with these levels, false if it is not valid.
func (s *Space) Find(levels []uint16) (config int, ok bool) {
	for j, l := range levels {
		if int(l) >= len(s.params[j].Values) {
			return 0, false
		}
	}
	c, ok := s.index[s.key(levels)]
	return int(c), ok
}

// AppendNeighbours appends the valid configurations that differ from config in
// exactly one parameter, by parameter and level.
func (s *Space) AppendNeighbours(to []int, config int) []int {
	levels := s.Levels(config)
	key := s.key(levels)
	for j, stride := range s.stride {
		rest := key - uint64(levels[j])*stride
		for l := range s.params[j].Values {
			if l == int(levels[j]) {
				continue
			}
			if c, ok := s.index[rest+uint64(l)*stride]; ok {
				to = append(to, int(c))
			}
		}
	}
	return to
}
