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
func (d *Decoder) Flat(payload []byte, limits CheckLimits) ([]Flat, bool) {
	if len(payload) == 0 || len(payload) > limits.MaxBytes || limits.MaxString < maxFixStr || limits.MaxDepth < 1 {
		return nil, false
	}
	if d.shapes == nil {
		d.shapes = new(shapeTable)
	}
	records, items := d.flats[:0], 0
	for i := 0; i < len(payload); {
		if len(records) == limits.MaxRecords {
			return nil, false
		}
		if len(records) == cap(records) {
			records = slices.Grow(records, 1)
		}
		records = records[:len(records)+1]
		d.flats = records
		r := &records[len(records)-1]
		n := 0
		if i, n = d.quick(payload, i, r); i == 0 {
			return nil, false
		}
		if items += 1 + n; items > limits.MaxItems {
			return nil, false
		}
	}
	return records, true
}

// maxFixStr is the most bytes of a string whose length is in its code.
const maxFixStr = 31
