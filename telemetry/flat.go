package telemetry

import "encoding/binary"

// The hot path of the decoder: records of the kinds that come most often and
// have only unsigned integers in their body, in array form. It takes a record
// that is exactly as expected, in one pass and with nothing looked up but the
// ranges, and leaves everything else, every refusal included, to the general
// path, which starts over from the first byte. A test holds the two together.

// intRange is the range low..low+span of a field.
type intRange struct{ low, span uint64 }

// maxFlat is the largest number of body fields of a flat kind.
const maxFlat = 12

// flatBodies has the ranges of the body fields of the flat kinds in array
// order, nil for the other kinds.
var flatBodies = [lastKind + 1][]intRange{
	KindQueue: rangesOf(queueSchema.fields),
	KindGraph: rangesOf(graphSchema.fields),
}

// flatHeader has those of the header fields between kind and queue.
var flatHeader = rangesOf(headerFields[posMinor:posQueue])

// Their places in it.
const (
	flatMinor       = 0
	flatIncarnation = posIncarnation - posMinor
	flatSeq         = posSeq - posMinor
	flatSentNs      = posSentNs - posMinor
	flatRequired    = 1<<flatIncarnation | 1<<flatSeq
)

// rangesOf panics for a field that is not an integer: such a kind is not flat.
func rangesOf[T any](fields []field[T]) []intRange {
	ranges := make([]intRange, len(fields))
	for i := range fields {
		f := &fields[i]
		if f.typ > typeI64 || i == maxFlat {
			panic("telemetry: schema: field " + f.name + " is not flat")
		}
		ranges[i] = intRange{f.min, f.max - f.min}
	}
	return ranges
}

// flatValues are the values of a flat body in array order.
type flatValues struct {
	has Presence
	v   [maxFlat]uint64 // 0 where absent
}

// flat decodes the next record into r and reports whether it did. If not, the
// position is unchanged and r is undefined.
func (d *Decoder) flat(r *Record) bool {
	var values flatValues
	var place uint16
	i, _ := d.flatRecord(d.r.b, d.r.i, &r.Header, &values, &place)
	if i == 0 {
		return false
	}
	if r.Kind == KindQueue {
		r.Queue.assign(&values)
	} else {
		r.Graph.assign(&values)
	}
	d.r.i = i
	return true
}

// flatRecord decodes the record at b[i] into h and values, which are zero. It
// returns the positions after it and of its body, 0 if it is none for the hot
// path. place is the token's.
func (d *Decoder) flatRecord(b []byte, i int, h *Header, values *flatValues, place *uint16) (after, bodyAt int) {
	n, i := flatHead(b, i)
	if i == 0 || i >= len(b) || int(b[i]) >= len(flatBodies) {
		return 0, 0
	}
	kind := Kind(b[i])
	body := flatBodies[kind]
	if n < bodyStart || n-bodyStart > len(body) || body == nil {
		return 0, 0
	}
	var head [flatSentNs + 1]uint64
	seen, i := flatInts(b, i+1, flatHeader, head[:])
	if i == 0 || seen&flatRequired != flatRequired {
		return 0, 0
	}
	h.Kind, h.Minor, h.SentNs = kind, uint32(head[flatMinor]), int64(head[flatSentNs])
	h.Incarnation, h.Seq = head[flatIncarnation], head[flatSeq]
	if h.Queue, i = d.flatToken(b, i, place); i == 0 {
		return 0, 0
	}
	bodyAt = i
	if values.has, i = flatInts(b, i, body[:n-bodyStart], values.v[:]); i == 0 {
		return 0, 0
	}
	if kind == KindGraph && !frontierFits(values.has, values.v[graphNodeCount], values.v[graphFrontierNodes]) {
		return 0, 0
	}
	return i, bodyAt
}

// Body positions of what Graph.validate compares.
const (
	graphNodeCount     = 0
	graphFrontierNodes = 4
)

// Those of the counters of Queue.
const (
	queueRequeues = 10
	queueExecuted = 11
)

// frontierFits is Graph.validate.
func frontierFits(has Presence, nodes, frontier uint64) bool {
	return !has.Has(HasNodeCount|HasFrontierNodes) || frontier <= nodes
}

// flatHead reads the head of an array of up to 2^16-1 elements and returns
// their number and the position after it, 0 if it is anything else.
func flatHead(b []byte, i int) (n, after int) {
	switch c := b[i]; {
	case c&0xf0 == codeFixArray:
		return int(c & 0x0f), i + 1
	case c == codeArray16 && len(b)-i >= 3:
		return int(binary.BigEndian.Uint16(b[i+1:])), i + 3
	}
	return 0, 0
}

// flatInts reads an unsigned integer or nil for each range. It returns a bit
// for each integer and the position after the last one, 0 if it met anything
// else or a value out of its range.
func flatInts(b []byte, i int, ranges []intRange, values []uint64) (has Presence, after int) {
	values = values[:len(ranges)]
	bit := Presence(1)
	for pos := range ranges {
		if i >= len(b) {
			return 0, 0
		}
		c := b[i]
		i++
		v := uint64(c)
		if c > codePosFixMax {
			if c == codeNil {
				bit <<= 1
				continue
			}
			rest := b[i:]
			switch {
			case c == codeUint16 && len(rest) >= 2:
				v = uint64(binary.BigEndian.Uint16(rest))
				i += 2
			case c == codeUint64 && len(rest) >= 8:
				v = binary.BigEndian.Uint64(rest)
				i += 8
			case c == codeUint32 && len(rest) >= 4:
				v = uint64(binary.BigEndian.Uint32(rest))
				i += 4
			case c == codeUint8 && len(rest) >= 1:
				v = uint64(rest[0])
				i++
			default:
				return 0, 0
			}
		}
		if r := &ranges[pos]; v-r.low > r.span {
			return 0, 0
		}
		values[pos] = v
		has |= bit
		bit <<= 1
	}
	return has, i
}

// flatToken reads a nil or a token whose length is in its code, and returns
// the position after it, 0 if it is anything else.
func (d *Decoder) flatToken(b []byte, i int, place *uint16) (string, int) {
	if i >= len(b) {
		return "", 0
	}
	c := b[i]
	i++
	if c == codeNil {
		*place = 0
		return "", i
	}
	n := int(c & 0x1f)
	if c&0xe0 != codeFixStr || n == 0 || len(b)-i < n {
		return "", 0
	}
	token, at, ok := d.token(b[i : i+n])
	if !ok {
		return "", 0
	}
	*place = uint16(at)
	return token, i + n
}

// assign takes the values in the order of the schema. Naming the fields once
// more costs half of what going through their accessors does, and writing each
// by itself half of what writing the whole does.
func (q *Queue) assign(values *flatValues) {
	v := &values.v
	q.Has = values.has
	q.QueueLen = uint32(v[0])
	q.RequestedWorkerGroups = uint32(v[1])
	q.MaxWorkgroupSizeX = uint32(v[2])
	q.MaxWorkgroupsPerDimension = uint32(v[3])
	q.MaxInvocationsPerWorkgroup = uint32(v[4])
	q.RequestedHitCapacity = uint32(v[5])
	q.ExpectedHitsPerItem = uint32(v[6])
	q.HotOpcodeCount = uint32(v[7])
	q.HotWindowCount = uint32(v[8])
	q.MaxPriorityAge = uint32(v[9])
	q.RequeueCount = v[10]
	q.ExecutedCount = v[11]
}

func (g *Graph) assign(values *flatValues) {
	v := &values.v
	g.Has = values.has
	g.NodeCount = uint32(v[0])
	g.EdgeCount = uint32(v[1])
	g.FrontierDensityBps = uint16(v[2])
	g.FrontierOutDegreeSum = v[3]
	g.FrontierNodes = uint32(v[4])
	g.UnexploredEdges = v[5]
	g.ResidentDeviceBytes = v[6]
	g.DeviceMemoryBudgetBytes = v[7]
	g.MemoryPressureBps = uint16(v[8])
	g.HitCount = v[9]
	g.RequeuedHitCount = v[10]
}
