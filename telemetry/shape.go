package telemetry

import "encoding/binary"

// A publisher's records look alike: the same field is as wide as it was last
// time, or absent again. A shape is one such layout of a flat body. Whether
// bytes have it is decided by comparing words under a mask, and each value is
// then at a place known before, which is a third of the work of going from
// value to value. The values themselves are checked as ever.
type shape struct {
	fields  uint8 // elements of the body
	words   uint8 // words of eight bytes that cover the body, counted from its first byte
	size    uint8 // bytes of the body
	checked uint8 // how many of check are used
	has     Presence
	sum     uint64 // tells shapes apart
	word    [shapeWords]struct{ mask, want uint64 }
	at      [maxFlat]uint8    // where the eight bytes begin that end with a value
	keep    [maxFlat]uint64   // which of their bits it is, none for nil
	check   [maxFlat]struct { // values that could be out of their range
		intRange
		keep uint64
		at   uint8
	}
}

// shapeWords cover a body of maxFlat fields of nine bytes.
const shapeWords = (maxFlat*9 + 7) / 8

// shapeTable remembers shapes, for each token and kind which one came last, and
// which token came after which.
type shapeTable struct {
	place uint16 // of the last token
	next  [TokenPlaces]uint16
	last  [TokenPlaces][2]uint8 // index into known; 0 is no shape
	known [64]shape
	end   bodyWindow // of a body near the end of its payload
}

func (t *shapeTable) of(r *Flat) *uint8 {
	return &t.last[r.Place%TokenPlaces][(r.Kind-KindQueue)%2]
}

// quick decodes the record at b[i] and returns the position after it and the
// number of its elements; 0 if it is none for the hot path.
func (d *Decoder) quick(b []byte, i int, r *Flat) (after, n int) {
	n, body := d.quickHead(b, i, r)
	if body != 0 {
		last := d.shapes.of(r)
		s := &d.shapes.known[*last%uint8(len(d.shapes.known))]
		if int(s.fields) == n-bodyStart && len(b)-body >= int(s.size) {
			if s.decode(d.window(b, body), r) {
				return body + int(s.size), n
			}
		}
	}
	after = d.flatRecord(b, i, &r.Header, &r.Queue, &r.Graph, &r.Place)
	if after == 0 {
		return 0, 0
	}
	if body == 0 {
		n, _ = flatHead(b, i)
	} else {
		*d.shapes.of(r) = d.shapes.learn(r.Kind, n-bodyStart, b[body:after])
	}
	return after, n
}

// headMost is the most bytes from a record's kind to the code of its queue.
const headMost = 2 + 9 + 9 + 9 + 1

// quickHead reads a header as own publishers write it and returns where the
// body begins and how many elements the record has, 0 if it looks different.
func (d *Decoder) quickHead(b []byte, i int, r *Flat) (n, body int) {
	n, i = flatHead(b, i)
	if i == 0 || len(b)-i < headMost || n < bodyStart {
		return 0, 0
	}
	p := (*[headMost]byte)(b[i:])
	kind := Kind(p[0])
	if kind != KindQueue && kind != KindGraph || p[1] > codePosFixMax || p[2] != codeUint64 {
		return 0, 0
	}
	r.Kind, r.Minor, r.Incarnation = kind, uint32(p[1]), binary.BigEndian.Uint64(p[3:11])
	size := 1
	switch c := p[11]; {
	case c <= codePosFixMax:
		r.Seq = uint64(c)
	case c == codeUint16:
		r.Seq, size = uint64(binary.BigEndian.Uint16(p[12:])), 3
	case c == codeUint32:
		r.Seq, size = uint64(binary.BigEndian.Uint32(p[12:])), 5
	default:
		return 0, 0
	}
	sent := p[11+size:]
	if sent[0] != codeUint64 || r.Incarnation == 0 || r.Seq == 0 {
		return 0, 0
	}
	if r.SentNs = int64(binary.BigEndian.Uint64(sent[1:9])); r.SentNs < 0 {
		return 0, 0
	}
	return n, d.quickToken(b, i+11+size+9, r)
}

// quickToken reads the queue at b[i] and returns the position after it, 0 if
// it is none for the hot path. Publishers name their queues in the same order
// again and again, so the one that came after the last one is tried first:
// then nothing waits for a hash of these bytes.
func (d *Decoder) quickToken(b []byte, i int, r *Flat) (after int) {
	guess := d.shapes.next[d.shapes.place%TokenPlaces]
	known := d.tokens[guess%TokenPlaces]
	if after = i + 1 + len(known); after <= len(b) && len(known) <= maxFixStr && known != "" {
		if b[i] == codeFixStr|byte(len(known)) && string(b[i+1:after]) == known {
			r.Header.Queue, r.Place, d.shapes.place = known, guess, guess
			return after
		}
	}
	if r.Header.Queue, after = d.flatToken(b, i, &r.Place); r.Header.Queue != "" {
		d.shapes.next[d.shapes.place%TokenPlaces] = r.Place
		d.shapes.place = r.Place
	}
	return after
}

// bodyMargin is how many bytes before a body its shape may look at. A head has more.
const bodyMargin = 16

// bodyWindow is what a shape looks at: a body that begins at bodyMargin, and
// what is around it. Its size is a number that no place in a shape, which is
// below windowPlaces, reaches with eight bytes, so none is compared with it.
type bodyWindow [windowPlaces + 8]byte

// windowPlaces is a power of two above bodyMargin + 8*shapeWords.
const windowPlaces = 128

// window returns what surrounds the body at b[at]. Where the payload ends
// before the window, it is a copy with zeros behind.
func (d *Decoder) window(b []byte, at int) *bodyWindow {
	b = b[at-bodyMargin:]
	if len(b) >= len(bodyWindow{}) {
		return (*bodyWindow)(b)
	}
	w := &d.shapes.end
	clear(w[copy(w[:], b):])
	return w
}

// decode reads a body that has this shape into r and reports whether it has it
// and every value is in its range.
func (s *shape) decode(w *bodyWindow, r *Flat) bool {
	var differ uint64
	i := uint8(bodyMargin)
	for k := range s.word[:s.words] {
		x := &s.word[k]
		differ |= (w.little(i) ^ x.want) & x.mask
		i += 8
	}
	if differ != 0 {
		return false
	}
	if r.Kind == KindQueue {
		s.queue(w, &r.Queue)
		return s.inRange(w)
	}
	s.graph(w, &r.Graph)
	return s.inRange(w) && r.Graph.validate() == nil
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

// inRange checks the values whose code does not say already that they are in
// their range.
func (s *shape) inRange(w *bodyWindow) bool {
	for k := range s.check[:s.checked] {
		if x := &s.check[k]; w.big(x.at)&x.keep-x.low > x.span {
			return false
		}
	}
	return true
}

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
}

// learn returns the number of the shape of a body that was decoded the
// general way.
func (t *shapeTable) learn(kind Kind, fields int, body []byte) uint8 {
	sum := uint64(kind)
	for i := 0; i < len(body); i += 1 + valueBytes(body[i]) {
		sum = (sum ^ uint64(layoutCode(body[i]))) * hashA
		sum ^= sum >> 29
	}
	number := uint8(1 + sum%uint64(len(t.known)-1))
	if s := &t.known[number]; s.sum != sum {
		s.learn(kind, sum, fields, body)
	}
	return number
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

func (s *shape) learn(kind Kind, sum uint64, fields int, body []byte) {
	*s = shape{fields: uint8(fields), size: uint8(len(body)), words: uint8((len(body) + 7) / 8), sum: sum}
	i := 0
	for f, limits := range flatBodies[kind][:fields] {
		c, size := body[i], valueBytes(body[i])
		mask := uint64(0xff)
		if c <= codePosFixMax {
			mask = 0x80
		}
		x, shift := &s.word[i/8], 8*(i%8)
		x.mask |= mask << shift
		x.want |= uint64(layoutCode(c)) << shift
		i += 1 + size
		s.at[f] = uint8(bodyMargin + i - 8)
		if c == codeNil {
			continue
		}
		s.has |= 1 << f
		s.keep[f] = 1<<(8*max(size, 1)) - 1
		if limits.low > 0 || limits.span < s.keep[f] {
			x := &s.check[s.checked]
			x.intRange, x.keep, x.at = limits, s.keep[f], s.at[f]
			s.checked++
		}
	}
}
