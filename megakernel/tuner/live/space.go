package live

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/space"
)

// ErrWorkload says that a workload's description is impossible.
var ErrWorkload = errors.New("impossible workload")

// Bounds of the axes of a space.
const (
	minWidth  = 32
	maxWidth  = 1024
	minChunk  = 32
	maxChunk  = 1 << 14
	minDepth  = 256
	depths    = 4  // the whole launch, a half, a quarter, an eighth
	maxLevels = 20 // values of a parameter
	axes      = 4
)

// Workload says what a geometry is chosen for.
type Workload struct {
	Limits policy.Limits
	Slots  uint32 // slots of a usual launch, at least 1
	// Legal says whether the engine runs a geometry as it is; nil accepts all. It is
	// called once for each combination.
	Legal func(policy.Geometry) bool
}

// Space are the geometries of a workload. It is immutable and may be shared.
type Space struct {
	space  *space.Space
	shapes []policy.Geometry
	index  map[policy.Geometry]int32
	model  []float64       // log of the cost that the model expects of each
	start  int32           // where it is least
	kernel [axes][]float64 // similarity of two values by their distance
	span   [axes]int       // of an axis, in steps
	steps  [][axes]int16   // of each geometry: logarithms of its parameters

	derived       [][derived]int16 // of each geometry, in steps
	derivedKernel [derived][]float64

	slots uint32
}

// NewSpace builds the space of a workload. Every axis is powers of two: widths
// of whole subgroups, as many workgroups as there are tickets, chunks of at
// least a quarter of the width, and dispatches of the whole launch down to an
// eighth. Of a described device the workgroups are also multiples of its units.
func NewSpace(w Workload) (*Space, error) {
	most := w.Limits.MaxWidth()
	switch {
	case w.Slots == 0:
		return nil, fmt.Errorf("%w: a launch without slots", ErrWorkload)
	case w.Slots > 1<<30:
		return nil, fmt.Errorf("%w: %d slots, at most %d are allowed", ErrWorkload, w.Slots, 1<<30)
	case most == 0 || w.Limits.MaxWorkgroupsPerDimension == 0:
		return nil, fmt.Errorf("%w: the device's limits are not known: %+v", ErrWorkload, w.Limits)
	}
	groups := min(w.Limits.MaxWorkgroupsPerDimension, max(w.Slots/minChunk, 1), 1<<16)
	values := [axes][]uint32{
		Widths(&w.Limits),
		withMultiples(powers(1, groups), w.Limits.Units, groups),
		powers(minChunk, max(min(w.Slots, maxChunk), minChunk)),
		nil,
	}
	for k := depths - 1; k >= 0; k-- {
		if d := (w.Slots + 1<<k - 1) >> k; k == 0 || d >= minDepth {
			values[3] = append(values[3], d)
		}
	}
	return enumerate(&w, values)
}

func enumerate(w *Workload, values [axes][]uint32) (*Space, error) {
	at := func(l []uint16) policy.Geometry {
		return policy.Geometry{Width: values[0][l[0]], Groups: values[1][l[1]], Chunk: values[2][l[2]], Depth: values[3][l[3]]}
	}
	params := make([]space.Param, axes)
	for j, name := range [axes]string{"width", "groups", "chunk", "depth"} {
		ints := make([]int, len(values[j]))
		for i, v := range values[j] {
			ints[i] = int(v)
		}
		params[j] = space.Ints(name, ints...)
	}
	all, err := space.Product(params, func(l []uint16) bool {
		g := at(l)
		tickets := (g.Depth + g.Chunk - 1) / g.Chunk
		useful := g.Groups == 1 || g.Groups < 2*tickets
		return useful && 4*g.Chunk >= g.Width && (w.Legal == nil || w.Legal(g))
	})
	if err != nil {
		return nil, fmt.Errorf("geometries of %d slots: %w", w.Slots, err)
	}
	s := &Space{space: all, slots: w.Slots, index: make(map[policy.Geometry]int32, all.Len())}
	device := deviceOf(w)
	for c := range all.Len() {
		l := all.Levels(c)
		g := at(l)
		s.shapes = append(s.shapes, g)
		s.steps = append(s.steps, [axes]int16{steps(g.Width), steps(g.Groups), steps(g.Chunk), steps(g.Depth)})
		s.index[g] = int32(c)
		s.model = append(s.model, device.cost(w, g))
		if s.model[c] < s.model[s.start] {
			s.start = int32(c)
		}
	}
	for j := range s.kernel {
		s.span[j] = int(steps(values[j][len(values[j])-1]) - steps(values[j][0]))
	}
	s.relate()
	return s, nil
}

// Widths are those from which a tuner chooses on a device, ascending; none if its limits are not known.
func Widths(l *policy.Limits) []uint32 {
	most := l.MaxWidth()
	if most == 0 {
		return nil
	}
	sizing := policy.Standard().Sizing
	least := min(max(minWidth, sizing.Subgroup(l)), uint32(1)<<(bits.Len32(most)-1))
	return powers(least, max(least, min(most, maxWidth)))
}

func powers(from, to uint32) (out []uint32) {
	for v := from; v <= to && len(out) < maxLevels; v *= 2 {
		out = append(out, v)
	}
	return out
}

// withMultiples adds 1, 2, 4 and 8 workgroups for each unit, up to most: one a unit leaves
// none idle, as many as it holds fill it, and neither need be a power of two.
func withMultiples(groups []uint32, units, most uint32) []uint32 {
	for k := uint64(1); k <= 8; k *= 2 {
		if n := k * uint64(units); n != 0 && n <= uint64(most) {
			groups = append(groups, uint32(n))
		}
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// stepsOfDoubling is how finely the logarithms of parameters are told apart.
const stepsOfDoubling = 16

func steps(v uint32) int16 { return int16(math.Round(stepsOfDoubling * math.Log2(float64(v)))) }

// Len is the number of geometries.
func (s *Space) Len() int { return len(s.shapes) }

// Discrete is the space in the form that searches take, with the same numbers.
func (s *Space) Discrete() *space.Space { return s.space }

// At is a geometry by its number.
func (s *Space) At(config int) policy.Geometry { return s.shapes[config] }

// Find is the number of a geometry; ok is false if it is not in the space.
func (s *Space) Find(g policy.Geometry) (config int, ok bool) {
	c, ok := s.index[g]
	return int(c), ok
}

// Nearest is the number of the geometry with the fewest doublings to g.
func (s *Space) Nearest(g policy.Geometry) int {
	if c, ok := s.index[g]; ok {
		return int(c)
	}
	best, least := 0, math.Inf(1)
	for c, h := range s.shapes {
		if d := doublings(g.Width, h.Width) + doublings(g.Groups, h.Groups) + doublings(g.Chunk, h.Chunk) + doublings(g.Depth, h.Depth); d < least {
			best, least = c, d
		}
	}
	return best
}

func doublings(a, b uint32) float64 {
	return math.Abs(math.Log2(float64(max(a, 1)) / float64(max(b, 1))))
}
