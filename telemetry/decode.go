package telemetry

import (
	"io"
)

// Decoder reads the records of one payload. The zero value is ready for Reset.
// A Decoder keeps a bounded table of the strings it has seen, so reuse one per
// goroutine; it must not be used by two at once.
type Decoder struct {
	r     reader
	index int
	names interner
}

// Reset starts over with another payload. The Decoder reads from payload until
// the next Reset but no record keeps a part of it.
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
	start := d.r.i
	index := d.index
	d.index++
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

// record decodes one record from the current position.
func (d *Decoder) record(r *Record) *failure {
	n, isMap, code := d.r.container()
	if code == refuseType {
		code = refuseMalformed
	}
	if code != accepted {
		return &failure{code: code}
	}
	kind, code := d.kind(n, isMap)
	if code != accepted {
		return &failure{spec: &headerFields[posKind].spec, code: code}
	}
	r.Header = Header{}
	switch kind {
	case KindQueue:
		r.Queue = Queue{}
		return decodeBody(d, r, queueSchema, &r.Queue, n, isMap)
	case KindGraph:
		r.Graph = Graph{}
		return decodeBody(d, r, graphSchema, &r.Graph, n, isMap)
	case KindPriority:
		r.Priority = Priority{}
		return decodeBody(d, r, prioritySchema, &r.Priority, n, isMap)
	case KindLaunch:
		r.Launch = Launch{OpcodeCounts: r.Launch.OpcodeCounts[:0], Fingerprint: r.Launch.Fingerprint[:0]}
		return decodeBody(d, r, launchSchema, &r.Launch, n, isMap)
	case KindWorker:
		r.Worker = Worker{Capabilities: r.Worker.Capabilities[:0]}
		return decodeBody(d, r, workerSchema, &r.Worker, n, isMap)
	case KindRecommendation:
		r.Recommendation = Recommendation{Reasons: r.Recommendation.Reasons[:0]}
		return decodeBody(d, r, recommendationSchema, &r.Recommendation, n, isMap)
	case KindWork:
		r.Work = Work{Slots: r.Work.Slots[:0]}
		return decodeBody(d, r, workSchema, &r.Work, n, isMap)
	case KindDone:
		r.Done = Done{Faults: r.Done.Faults[:0], Results: r.Done.Results[:0]}
		return decodeBody(d, r, doneSchema, &r.Done, n, isMap)
	default:
		r.Rejected = Rejected{}
		return decodeBody(d, r, rejectedSchema, &r.Rejected, n, isMap)
	}
}

// kind finds the record's kind without moving the position. An array has it
// first; a map may have it anywhere, though every encoder of ours puts it first.
func (d *Decoder) kind(n int, isMap bool) (Kind, refusal) {
	at := d.r
	for ; n > 0; n-- {
		if isMap {
			key, code := at.str(maxU32)
			if code != accepted {
				return KindInvalid, refuseMalformed
			}
			if string(key) != "kind" {
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
		code := decodeEnum(&at, &headerFields[posKind].spec, &k)
		if code == refuseRange {
			code = refuseUnknownKind
		}
		return Kind(k), code
	}
	return KindInvalid, refuseMissing
}

// decodeBody decodes header and body in either form and checks what concerns
// the record as a whole.
func decodeBody[T any](d *Decoder, r *Record, s *schema[T], body *T, n int, isMap bool) *failure {
	var seen uint64 // by array position
	var bad *failure
	if isMap {
		seen, bad = decodeMap(d, r, s, body, n)
	} else {
		seen, bad = decodeArray(d, r, s, body, n)
	}
	if bad != nil {
		bad.kind = s.kind
		return bad
	}
	if missing := (s.required<<bodyStart | headerRequired) &^ seen; missing != 0 {
		return &failure{kind: s.kind, spec: s.specAt(firstBit(missing)), code: refuseMissing}
	}
	if s.has != nil {
		*s.has(body) = Presence(seen >> bodyStart)
	}
	if err := r.Validate(); err != nil {
		return &failure{kind: s.kind, code: refuseInconsistent, cause: err}
	}
	return nil
}

func decodeArray[T any](d *Decoder, r *Record, s *schema[T], body *T, n int) (seen uint64, bad *failure) {
	rd := &d.r
	for pos := range n {
		if rd.absent() {
			continue
		}
		var code refusal
		switch {
		case pos < bodyStart:
			code = decodeValue(d, &headerFields[pos].spec, headerFields[pos].at(&r.Header))
		case pos-bodyStart < len(s.fields):
			f := &s.fields[pos-bodyStart]
			code = decodeValue(d, &f.spec, f.at(body))
		default: // a field of a later minor version
			if code = rd.skip(); code != accepted {
				return 0, &failure{code: code}
			}
			continue
		}
		if code != accepted {
			return 0, &failure{spec: s.specAt(pos), code: code}
		}
		seen |= 1 << pos
	}
	return seen, nil
}

func decodeMap[T any](d *Decoder, r *Record, s *schema[T], body *T, n int) (seen uint64, bad *failure) {
	rd := &d.r
	var met uint64 // keys met, absent values included
	next := 0      // the position that an encoder which keeps the order sends next
	for range n {
		key, code := rd.str(maxU32)
		if code != accepted {
			return 0, &failure{code: refuseMalformed}
		}
		pos, known := s.position(key, next)
		if !known {
			if code := rd.skip(); code != accepted {
				return 0, &failure{code: code}
			}
			continue
		}
		next = pos + 1
		if met&(1<<pos) != 0 {
			return 0, &failure{spec: s.specAt(pos), code: refuseDuplicate}
		}
		met |= 1 << pos
		if rd.absent() {
			continue
		}
		if pos < bodyStart {
			code = decodeValue(d, &headerFields[pos].spec, headerFields[pos].at(&r.Header))
		} else {
			f := &s.fields[pos-bodyStart]
			code = decodeValue(d, &f.spec, f.at(body))
		}
		if code != accepted {
			return 0, &failure{spec: s.specAt(pos), code: code}
		}
		seen |= 1 << pos
	}
	return seen, nil
}

// position returns the array position of a key. Most records keep the order of
// the schema, so the position after the last key is tried before the table.
func (s *schema[T]) position(key []byte, next int) (int, bool) {
	if next < bodyStart+len(s.fields) && s.name(next) == string(key) {
		return next, true
	}
	pos, ok := s.keys[string(key)]
	return pos, ok
}
