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
	MaxConfigs = 1 << 20 // configurations of a space
)

// ErrSpace says that a space's description is impossible: no parameters, too
// many values, or two configurations that are the same.
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
	p, _ := newParam(name, text)
	return p
}

// newParam orders the values and returns the level of each, in the order given.
// Values that are the same number have the same level.
func newParam(name string, values []string) (Param, []uint16) {
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
	exact  bool     // no two combinations have the same key
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
	return build(params, levels)
}

// duplicateError names two configurations that are the same.
type duplicateError struct{ first, second int }

func (e *duplicateError) Error() string {
	return fmt.Sprintf("configurations %d and %d are the same", e.first, e.second)
}
func (e *duplicateError) Unwrap() error { return ErrSpace }

func build(params []Param, levels []uint16) (*Space, error) {
	switch {
	case len(params) == 0:
		return nil, fmt.Errorf("%w: no parameters", ErrSpace)
	case len(params) > MaxParams:
		return nil, fmt.Errorf("%w: %d parameters, at most %d are allowed", ErrSpace, len(params), MaxParams)
	case len(levels) == 0:
		return nil, fmt.Errorf("%w: no valid configuration", ErrSpace)
	}
	s := &Space{params: params, levels: levels, stride: make([]uint64, len(params)), exact: true}
	weight := uint64(1)
	for j, p := range params {
		n := uint64(len(p.Values))
		if n > MaxLevels {
			return nil, fmt.Errorf("%w: parameter %q has %d values, at most %d are allowed", ErrSpace, p.Name, n, MaxLevels)
		}
		s.stride[j] = weight
		var high uint64
		high, weight = bits.Mul64(weight, n)
		s.exact = s.exact && high == 0
	}
	for salt := range uint64(8) {
		if !s.exact { // more combinations than a key has values
			for j := range s.stride {
				s.stride[j] = mix(salt<<32|uint64(j)) | 1
			}
		}
		first, second, ok := s.number()
		if ok {
			return s, nil
		}
		if s.exact || slices.Equal(s.Levels(first), s.Levels(second)) {
			return nil, &duplicateError{first, second}
		}
	}
	return nil, fmt.Errorf("%w: its configurations cannot be told apart by keys", ErrSpace)
}

// number makes the index from key to configuration, or returns two
// configurations with the same key.
func (s *Space) number() (first, second int, ok bool) {
	s.index = make(map[uint64]int32, s.Len())
	for c := range s.Len() {
		key := s.key(s.Levels(c))
		if first, taken := s.index[key]; taken {
			return int(first), c, false
		}
		s.index[key] = int32(c)
	}
	return 0, 0, true
}

// mix is the finalizer of SplitMix64 (Steele, Lea and Flood, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
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
	if ok && !s.exact && !slices.Equal(s.Levels(int(c)), levels) {
		return 0, false
	}
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
			if c, ok := s.index[rest+uint64(l)*stride]; ok && (s.exact || s.differ(int(c), config) == 1) {
				to = append(to, int(c))
			}
		}
	}
	return to
}

// differ counts the parameters in which two configurations differ.
func (s *Space) differ(a, b int) (n int) {
	x, y := s.Levels(a), s.Levels(b)
	for j := range x {
		if x[j] != y[j] {
			n++
		}
	}
	return n
}

// Describe writes a configuration as name=value pairs.
func (s *Space) Describe(config int) string {
	var b []byte
	for j, l := range s.Levels(config) {
		if j > 0 {
			b = append(b, ' ')
		}
		b = append(b, s.params[j].Name...)
		b = append(b, '=')
		b = append(b, s.params[j].Values[l]...)
	}
	return string(b)
}
