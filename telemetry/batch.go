package telemetry

import "slices"

// Flat is a queue or graph record of a payload in array form: the header, and where the
// values of the body are. Values that nobody asks for are not copied.
type Flat struct {
	Header
	Place uint16 // a place for Header.Queue, as TokenPlace, 0 if that is empty
	// Either the shape of the body and its bytes, or its values.
	shape  *shape
	body   *bodyWindow
	values *flatValues
	// Fields 10 and 11 of the body. The fold of a queue record needs them at once.
	requeues, executed uint64
}

// Flats holds the records of one payload. Its memory is used again. The zero
// value is ready for Decoder.Flat.
type Flats struct {
	Records []Flat
	// Unnamed says that a record names no queue.
	Unnamed bool
	values  []flatValues // of the records that no shape was known for
	tail    [2 * quickReach]byte
}

// Flat checks and decodes a whole payload in one pass, if it consists of the most
// frequent records: queue and graph records in array form. The records are then what
// Check and Next would have returned. Flat reports false for any other payload, and for
// one in which anything is to be refused; the caller goes on with Check and Reset, as if
// Flat had not been called. The records are valid until into is used again, even if the
// Decoder is used for something else; the bytes of the payload must not change
// meanwhile. Strings may be kept.
func (d *Decoder) Flat(into *Flats, payload []byte, limits CheckLimits) (ok bool) {
	into.Records, into.values, into.Unnamed = into.Records[:0], into.values[:0], false
	if len(payload) == 0 || len(payload) > limits.MaxBytes || limits.MaxString < maxFixStr || limits.MaxDepth < 1 {
		return false
	}
	if d.shapes == nil {
		d.shapes = newShapeTable()
	}
	d.shapes.earn(len(payload))
	run := flatRun{d: d, into: into, limits: limits}
	// Every record is looked at through a window of a fixed size. Those that end
	// too near to the end of the payload are copied in front of as many zeros.
	i, ok := run.take(payload, 0, len(payload)-quickReach+1, len(payload))
	if rest := len(payload) - i; ok && rest > 0 {
		begin := quickReach - rest
		copy(into.tail[begin:quickReach], payload[i:])
		_, ok = run.take(into.tail[:], begin, quickReach, quickReach)
	}
	return ok
}

// flatRun is one call of Flat.
type flatRun struct {
	d      *Decoder
	into   *Flats
	limits CheckLimits
	items  int
}

// take decodes records that begin at b[i] and before b[end] and returns the
// position after them, or false at the first that is none for the hot path. The
// payload ends at b[last], b quickReach-1 bytes behind end.
func (f *flatRun) take(b []byte, i, end, last int) (after int, ok bool) {
	t := f.d.shapes
	records := f.into.Records
	for i < end {
		if len(records) == f.limits.MaxRecords {
			return i, false
		}
		if len(records) == cap(records) {
			records = slices.Grow(records, 1)
		}
		records = records[:len(records)+1]
		r := &records[len(records)-1]
		size, n := t.quick((*quickWindow)(b[i:]), r)
		if size == 0 || i+size > last { // the zeros behind the payload are no part of it
			if size, n = f.d.slow(b[:last], i, r, f.into); size == 0 {
				return i, false
			}
		}
		if r.Header.Queue == "" {
			f.into.Unnamed = true
		}
		i += size
		if f.items += 1 + n; f.items > f.limits.MaxItems {
			return i, false
		}
	}
	f.into.Records = records
	return i, true
}

// slow decodes the record at b[i] value by value and has its form remembered.
func (d *Decoder) slow(b []byte, i int, r *Flat, into *Flats) (size, n int) {
	into.values = append(into.values, flatValues{})
	v := &into.values[len(into.values)-1]
	after, body := d.flatRecord(b, i, &r.Header, v, &r.Place)
	if after == 0 {
		return 0, 0
	}
	n, _ = flatHead(b, i)
	r.shape, r.body, r.values = nil, nil, v
	r.requeues, r.executed = v.v[queueRequeues], v.v[queueExecuted]
	d.shapes.remember(b[i:after], body-i, n, r)
	return after - i, n
}

// maxFixStr is the most bytes of a string whose length is in its code.
const maxFixStr = 31

// Has says which fields the body has.
func (r *Flat) Has() Presence {
	if r.shape == nil {
		return r.values.has
	}
	return r.shape.has
}

// Counters returns the cumulative counters of a queue record, 0 where absent.
func (r *Flat) Counters() (requeues, executed uint64) { return r.requeues, r.executed }

// MergeQueue is q.Merge of the body of a queue record.
func (r *Flat) MergeQueue(q *Queue) {
	if s := r.shape; s != nil && s.has == HasAllQueue {
		s.queue(r.body, q)
		return
	}
	var newer Queue
	if s := r.shape; s != nil {
		s.queue(r.body, &newer)
	} else {
		newer.assign(r.values)
	}
	q.Merge(&newer)
}

// MergeGraph is g.Merge of the body of a graph record.
func (r *Flat) MergeGraph(g *Graph) {
	var newer Graph
	if s := r.shape; s != nil {
		s.graph(r.body, &newer)
	} else {
		newer.assign(r.values)
	}
	g.Merge(&newer)
}
