package telemetry

import "encoding/binary"

// A publisher's records look alike: the same field is as wide as it was last
// time, or absent again. A shape is one such layout of a flat body. Whether
// bytes have it is decided by comparing words under a mask, and each value is
// then at a place known before, which is a third of the work of going from
// value to value. Fields with a lower bound, the limits of devices, hardly ever
// change: their values are part of the shape and valid if the bytes are the
// same. All other values are checked as ever. A shape does not change.
type shape struct {
	kind    Kind
	fields  uint8 // elements of the body
	words   uint8 // words of eight bytes that cover the body, counted from its first byte
	size    uint8 // bytes of the body
	checked uint8 // how many of check are used
	has     Presence
	sum     uint64 // tells shapes apart
	word    [shapeWords]struct{ mask, want uint64 }
	at      [maxFlat]uint8    // where the eight bytes begin that end with a value
	keep    [maxFlat]uint64   // which of their bits it is, none for nil
	check   [maxFlat]struct { // values that could be above their range
		span, keep uint64
		at         uint8
	}
}

// shapeWords cover a body of maxFlat fields of nine bytes.
const shapeWords = (maxFlat*9 + 7) / 8

// bodyMargin is how many bytes before a body its shape may look at. A head that
// is looked at for a shape has more.
const bodyMargin = 16

// bodyWindow is what a shape looks at: a body that begins at bodyMargin, and
// what is around it. Its size is a number that no place in a shape, which is
// below windowPlaces, reaches with eight bytes, so none is compared with it.
type bodyWindow [windowPlaces + 8]byte

// windowPlaces is a power of two above bodyMargin + 8*shapeWords - 8.
const windowPlaces = 128

// fits reports whether a body has this shape and every value is in its range.
func (s *shape) fits(w *bodyWindow) bool {
	// Six words, which full bodies seldom exceed, without a loop; beyond the
	// body the masks are zero.
	differ := s.differ(w, 0) | s.differ(w, 1) | s.differ(w, 2) | s.differ(w, 3) | s.differ(w, 4) | s.differ(w, 5)
	for k := 6; k < int(s.words); k++ {
		differ |= s.differ(w, k)
	}
	if differ != 0 {
		return false
	}
	for k := range s.check[:s.checked] {
		if x := &s.check[k]; w.big(x.at)&x.keep > x.span {
			return false
		}
	}
	return s.kind == KindQueue || frontierFits(s.has, s.value(w, graphNodeCount), s.value(w, graphFrontierNodes))
}

// differ is what word k of a body differs by from this shape.
func (s *shape) differ(w *bodyWindow, k int) uint64 {
	x := &s.word[k]
	return (w.little(uint8(bodyMargin+8*k)) ^ x.want) & x.mask
}

func (w *bodyWindow) little(at uint8) uint64 {
	i := uint(at) & (windowPlaces - 1)
	return binary.LittleEndian.Uint64(w[i : i+8])
}

func (w *bodyWindow) big(at uint8) uint64 {
	i := uint(at) & (windowPlaces - 1)
	return binary.BigEndian.Uint64(w[i : i+8])
}

// value returns the value of a field, 0 where the shape has none.
func (s *shape) value(w *bodyWindow, f int) uint64 { return w.big(s.at[f]) & s.keep[f] }

// queue takes the values in the order of the schema. Naming the fields once
// more costs half of what going through their accessors does, and writing each
// by itself half of what writing the whole does.
func (s *shape) queue(b *bodyWindow, q *Queue) {
	q.Has = s.has
	q.QueueLen = uint32(s.value(b, 0))
	q.RequestedWorkerGroups = uint32(s.value(b, 1))
	q.MaxWorkgroupSizeX = uint32(s.value(b, 2))
	q.MaxWorkgroupsPerDimension = uint32(s.value(b, 3))
	q.MaxInvocationsPerWorkgroup = uint32(s.value(b, 4))
	q.RequestedHitCapacity = uint32(s.value(b, 5))
	q.ExpectedHitsPerItem = uint32(s.value(b, 6))
	q.HotOpcodeCount = uint32(s.value(b, 7))
	q.HotWindowCount = uint32(s.value(b, 8))
	q.MaxPriorityAge = uint32(s.value(b, 9))
	q.RequeueCount = s.value(b, 10)
	q.ExecutedCount = s.value(b, 11)
}

func (s *shape) graph(b *bodyWindow, g *Graph) {
	g.Has = s.has
	g.NodeCount = uint32(s.value(b, 0))
	g.EdgeCount = uint32(s.value(b, 1))
	g.FrontierDensityBps = uint16(s.value(b, 2))
	g.FrontierOutDegreeSum = s.value(b, 3)
	g.FrontierNodes = uint32(s.value(b, 4))
	g.UnexploredEdges = s.value(b, 5)
	g.ResidentDeviceBytes = s.value(b, 6)
	g.DeviceMemoryBudgetBytes = s.value(b, 7)
	g.MemoryPressureBps = uint16(s.value(b, 8))
	g.HitCount = s.value(b, 9)
	g.RequeuedHitCount = s.value(b, 10)
}

// shapeSet remembers shapes. Publishers decide how many there are, so it is
// bounded, and what it allocates is bounded by what they send.
type shapeSet struct {
	known  [64]*shape
	credit int // bytes of payload that no shape was learned for
}

const (
	shapeCost   = 2048     // bytes of payload for a shape, which is smaller
	mostCredit  = 64 << 10 // of the first shapes
	firstCredit = mostCredit
)

// earn notes that a payload was received.
func (t *shapeSet) earn(bytes int) { t.credit = min(t.credit+bytes, mostCredit) }

// learn returns the shape of a body that was decoded value by value, or nil.
func (t *shapeSet) learn(kind Kind, fields int, body []byte) *shape {
	sum := uint64(kind)
	for i, f := 0, 0; i < len(body); f++ {
		sum = (sum ^ uint64(layoutCode(body[i]))) * hashA
		size := 1 + valueBytes(body[i])
		if flatBodies[kind][f].low > 0 {
			for _, c := range body[i : i+size] {
				sum = (sum ^ uint64(c)) * hashA
			}
		}
		sum ^= sum >> 29
		i += size
	}
	place := &t.known[sum%uint64(len(t.known))]
	if s := *place; s != nil && s.sum == sum && int(s.fields) == fields {
		return s
	}
	if t.credit < shapeCost {
		return nil
	}
	t.credit -= shapeCost
	*place = newShape(kind, sum, fields, body)
	return *place
}

// layoutCode is what a shape compares of a value: its code, and of one that is
// its own code only that it is.
func layoutCode(c byte) byte {
	if c <= codePosFixMax {
		return 0
	}
	return c
}

// valueBytes is how many bytes follow the code of an unsigned integer or nil.
func valueBytes(c byte) int {
	if c >= codeUint8 && c <= codeUint64 {
		return 1 << (c - codeUint8)
	}
	return 0
}

func newShape(kind Kind, sum uint64, fields int, body []byte) *shape {
	s := &shape{kind: kind, fields: uint8(fields), size: uint8(len(body)), words: uint8((len(body) + 7) / 8), sum: sum}
	demand := func(i int, mask, want byte) {
		x, shift := &s.word[i/8], 8*(i%8)
		x.mask |= uint64(mask) << shift
		x.want |= uint64(want) << shift
	}
	i := 0
	for f, limits := range flatBodies[kind][:fields] {
		c, size := body[i], valueBytes(body[i])
		if c <= codePosFixMax {
			demand(i, 0x80, 0)
		} else {
			demand(i, 0xff, c)
		}
		if limits.low > 0 {
			for k := i; k <= i+size; k++ {
				demand(k, 0xff, body[k])
			}
		}
		i += 1 + size
		s.at[f] = uint8(bodyMargin + i - 8)
		if c == codeNil {
			continue
		}
		s.has |= 1 << f
		s.keep[f] = 1<<(8*max(size, 1)) - 1
		if limits.low == 0 && limits.span < s.keep[f] {
			x := &s.check[s.checked]
			x.span, x.keep, x.at = limits.span, s.keep[f], s.at[f]
			s.checked++
		}
	}
	return s
}
