package telemetry

import "slices"

// Flat is a queue or graph record as Decoder.Flat leaves it: the header, and
// the body that Header.Kind names. The other body is undefined.
type Flat struct {
	Header
	Place uint16 // a place for Header.Queue, as TokenPlace, 0 if that is empty
	Queue Queue
	Graph Graph
}

// Flat checks and decodes a whole payload in one pass, if it consists of what
// comes most: queue and graph records in array form. It then returns what
// Check and Next would have, for every record. It reports false for any other
// payload and for every one that has something to refuse; the caller goes on
// with Check and Reset, as if Flat had not been called. The records are the
// Decoder's and valid until it is used again; strings may be kept.
func (d *Decoder) Flat(payload []byte, limits CheckLimits) (records []Flat, ok bool) {
	d.flats, ok = d.FlatInto(d.flats, payload, limits)
	return d.flats, ok
}

// FlatInto is Flat into memory of the caller's, whose contents it overwrites.
// It returns that memory, grown if need be, in any case.
func (d *Decoder) FlatInto(records []Flat, payload []byte, limits CheckLimits) (_ []Flat, ok bool) {
	records = records[:0]
	if len(payload) == 0 || len(payload) > limits.MaxBytes || limits.MaxString < maxFixStr || limits.MaxDepth < 1 {
		return records, false
	}
	if d.shapes == nil {
		d.shapes = new(shapeTable)
	}
	items := 0
	for i := 0; i < len(payload); {
		if len(records) == limits.MaxRecords {
			return records, false
		}
		if len(records) == cap(records) {
			records = slices.Grow(records, 1)
		}
		records = records[:len(records)+1]
		r := &records[len(records)-1]
		n := 0
		if i, n = d.quick(payload, i, r); i == 0 {
			return records, false
		}
		if items += 1 + n; items > limits.MaxItems {
			return records, false
		}
	}
	return records, true
}

// maxFixStr is the most bytes of a string whose length is in its code.
const maxFixStr = 31
