package telemetry

import (
	"encoding/binary"
	"io"
)

// Decoder reads the records of one payload. The zero value is ready for Reset.
// A Decoder keeps a bounded table of the strings it has seen and the places of
// the fields in the Record it was last given, so use one Decoder and one Record
// per goroutine again and again; neither may be used by two at once.
type Decoder struct {
	r     reader
	index int
	into  *Record
	bound [lastKind + 1]*binding // to into
	names interner

	inside error // what is wrong in an element of the list that was refused, nil if its next value tells
}

// Reset starts over with another payload. The Decoder reads from payload until
// the next Reset. Of what it decodes only the words of runs are views of payload;
// they hold as long as the payload's bytes do.
func (d *Decoder) Reset(payload []byte) {
	d.r = reader{b: payload}
	d.index = 0
}

// Next decodes and validates the next record into r, and returns io.EOF after
// the last. Absent fields are zero and their presence bits are clear. Slices of
// the body are reused from its previous contents, so a caller that keeps them
// past the next call copies them; strings may be kept.
//
// Any other error is a *RecordError about this record alone: its bytes are
// stepped over, r is undefined, and the next call goes on with the record
// after it. Bytes that are not msgpack end the payload.
func (d *Decoder) Next(r *Record) error {
	if d.r.left() <= 0 {
		return io.EOF
	}
	index := d.index
	d.index++
	start := d.r.i
	bad := d.record(r)
	if bad == nil {
		return nil
	}
	err := d.describe(index, bad)
	d.r.i = start
	if d.r.skip() != accepted {
		d.r.i = len(d.r.b)
	}
	return err
}

// failure is where and why a record was refused.
type failure struct {
	kind  Kind
	spec  *spec // nil if the record as a whole is meant
	code  refusal
	cause error // from Validate
}

// container is the map or array of the record being decoded.
type container struct {
	n     int // entries that are left
	isMap bool
	seen  uint64 // positions that have been decoded
}

// record decodes one record from the current position.
func (d *Decoder) record(r *Record) *failure {
	n, isMap, code := d.r.container()
	if code == refuseType {
		code = refuseMalformed
	}
	if code != accepted {
		return &failure{code: code}
	}
	in := container{n: n, isMap: isMap}
	kind, code := d.kind(&in)
	if code != accepted {
		return &failure{spec: &headerFields[posKind].spec, code: code}
	}
	r.reset(kind)
	if d.into != r {
		d.into, d.bound = r, [len(d.bound)]*binding{}
	}
	b := d.bound[kind]
	if b == nil {
		b = bind(r)
		d.bound[kind] = b
	}
	if bad := d.fields(b, &in); bad != nil {
		bad.kind = kind
		return bad
	}
	if missing := b.required &^ in.seen; missing != 0 {
		return &failure{kind: kind, spec: b.targets[firstBit(missing)].spec, code: refuseMissing}
	}
	if b.has != nil {
		*b.has = Presence(in.seen >> bodyStart)
	}
	if err := r.Validate(); err != nil {
		return &failure{kind: kind, code: refuseInconsistent, cause: err}
	}
	return nil
}

// reset clears the header and the body that kind names, and keeps the slices
// of the body for their capacity.
func (r *Record) reset(kind Kind) {
	r.Header = Header{Kind: kind}
	switch kind {
	case KindQueue:
		r.Queue = Queue{}
	case KindGraph:
		r.Graph = Graph{}
	case KindPriority:
		r.Priority = Priority{}
	case KindLaunch:
		r.Launch = Launch{OpcodeCounts: r.Launch.OpcodeCounts[:0], Fingerprint: r.Launch.Fingerprint[:0]}
	case KindWorker:
		r.Worker = Worker{Capabilities: r.Worker.Capabilities[:0], Opcodes: r.Worker.Opcodes[:0]}
	case KindRecommendation:
		r.Recommendation = Recommendation{Reasons: r.Recommendation.Reasons[:0], Decided: r.Recommendation.Decided[:0]}
	case KindWork:
		r.Work = Work{Slots: r.Work.Slots[:0], Runs: r.Work.Runs[:0]}
	case KindDone:
		r.Done = Done{Faults: r.Done.Faults[:0], Results: r.Done.Results[:0], Prints: r.Done.Prints[:0]}
	case KindHeap:
		r.Heap = Heap{Data: r.Heap.Data[:0]}
	case KindGraphRequest:
		r.GraphRequest = GraphRequest{Data: r.GraphRequest.Data[:0]}
	case KindCancel:
		r.Cancel = Cancel{}
	default:
		r.Rejected = Rejected{}
	}
}

// kind finds the record's kind. An array has it first, a map may have it
// anywhere. Where it is first, which is where encoders put it, the position
// moves past it; else the position stays and the kind is met again on the way.
func (d *Decoder) kind(in *container) (Kind, refusal) {
	spec := &headerFields[posKind].spec
	at := d.r
	if !in.isMap && in.n > 0 && at.left() > 0 {
		// Where most arrays have it: the code, first.
		if c := at.b[at.i]; c >= uint8(spec.min) && c <= uint8(spec.max) {
			d.r.i, in.n, in.seen = at.i+1, in.n-1, 1<<posKind
			return Kind(c), accepted
		}
	}
	for i := range in.n {
		if in.isMap && !at.accept(spec.wireKey) {
			key, code := at.str(maxU32)
			if code != accepted {
				return KindInvalid, refuseMalformed
			}
			if string(key) != spec.name {
				if code := at.skip(); code != accepted {
					return KindInvalid, code
				}
				continue
			}
		}
		if at.absent() {
			return KindInvalid, refuseMissing
		}
		var k uint8
		value := at.i
		code := decodeEnum(&at, spec, &k)
		switch {
		case code != accepted:
			d.r.i = value // what the error describes
			if code == refuseRange {
				code = refuseUnknownKind
			}
		case i == 0:
			d.r.i, in.n, in.seen = at.i, in.n-1, 1<<posKind
		}
		return Kind(k), code
	}
	return KindInvalid, refuseMissing
}

// fields decodes the fields after the kind in either encoding.
func (d *Decoder) fields(b *binding, in *container) *failure {
	if in.isMap {
		return d.entries(b, in)
	}
	return d.elements(b, in)
}

// elements reads an array's elements by their position. Those after the last
// known one belong to a later minor version.
func (d *Decoder) elements(b *binding, in *container) *failure {
	first := posKind + 1
	targets := b.targets[:min(first+in.n, len(b.targets))]
	seen, at := in.seen, d.r.i // kept in registers: a tenth of the time
	for pos := first; pos < len(targets); pos++ {
		t := &targets[pos]
		if v, after, ok := t.shortUint(d.r.b, at); ok {
			t.setInt(v)
			seen, at = seen|1<<pos, after
			continue
		}
		d.r.i = at
		present, code := d.value(t)
		if code != accepted {
			return &failure{spec: t.spec, code: code}
		}
		seen, at = seen|present<<pos, d.r.i
	}
	in.seen, d.r.i = seen, at
	if code := d.r.rest(first + in.n - len(targets)); code != accepted {
		return &failure{code: code}
	}
	return nil
}

// entries reads the entries of a map in any order. Most senders keep the order
// of the schema, so the bytes are compared with the key after the last one
// before anything is looked up.
func (d *Decoder) entries(b *binding, in *container) *failure {
	r := &d.r
	met := in.seen // positions of the keys so far, absent values included
	next := firstBit(^met)
	for range in.n {
		var pos int
		if next < len(b.targets) && r.accept(b.targets[next].spec.wireKey) {
			pos = next
		} else {
			key, code := r.str(maxU32)
			if code != accepted {
				return &failure{code: refuseMalformed}
			}
			var known bool
			if pos, known = b.keys[string(key)]; !known { // of a later minor version
				if code := r.skip(); code != accepted {
					return &failure{code: code}
				}
				continue
			}
		}
		t := &b.targets[pos]
		if met&(1<<pos) != 0 {
			return &failure{spec: t.spec, code: refuseDuplicate}
		}
		met |= 1 << pos
		next = pos + 1
		present, code := d.value(t)
		if code != accepted {
			return &failure{spec: t.spec, code: code}
		}
		in.seen |= present << pos
	}
	return nil
}

// value reads the value of one field and returns 1, or steps over a nil and returns 0.
func (d *Decoder) value(t *target) (present uint64, code refusal) {
	if v, after, ok := t.shortUint(d.r.b, d.r.i); ok {
		t.setInt(v)
		d.r.i = after
		return 1, accepted
	}
	if d.r.absent() {
		return 0, accepted
	}
	if t.typ == typeReserved {
		return 0, d.r.skip()
	}
	if t.typ > typeI64 {
		return 1, decodeValue(d, t.spec, t.at)
	}
	v, code := d.r.ranged(t.min, t.max)
	if code == accepted {
		t.setInt(v)
	}
	return 1, code
}

// shortUint reads an unsigned integer in the field's range that has eight bytes after
// its code: it loads all eight and drops those that are not part of the value, which
// saves a fourth of the time of a record. It reports false for every other value.
func (t *target) shortUint(buf []byte, i int) (v uint64, after int, ok bool) {
	if i >= len(buf)-8 || t.typ > typeI64 {
		return
	}
	v, after = uint64(buf[i]), i+1
	if v > codePosFixMax {
		w := v - codeUint8
		if w > 3 {
			return
		}
		v = binary.BigEndian.Uint64(buf[after:]) >> unusedBits[w]
		after += 1 << w
	}
	return v, after, v-t.min <= t.max-t.min
}

// unusedBits is how many bits of an eight-byte load do not belong to an
// integer of code codeUint8 + index.
var unusedBits = [4]uint8{56, 48, 32, 0}
