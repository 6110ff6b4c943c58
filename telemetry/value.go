package telemetry

import (
	"encoding/binary"
	"fmt"
	"math"
	"unicode/utf8"
)

// decodeValue reads the value of a field that is not an integer into p, which
// is a pointer of the type that s.typ implies.
func decodeValue(d *Decoder, s *spec, p any) refusal {
	r := &d.r
	switch p := p.(type) {
	case *string:
		return decodeString(d, s, p)
	case *uint8:
		return decodeEnum(r, s, p)
	case *bool:
		v, code := r.bool()
		*p = v
		return code
	case *float64:
		return decodeFloat(r, s, p)
	}
	return decodeList(d, s, p)
}

// ranged reads an integer in low..high.
func (r *reader) ranged(low, high uint64) (uint64, refusal) {
	at := r.i
	v, code := r.uint()
	if code == accepted && v-low > high-low {
		r.i = at
		return 0, refuseRange
	}
	return v, code
}

func decodeFloat(r *reader, s *spec, p *float64) refusal {
	at := r.i
	v, code := r.float()
	if code != accepted {
		return code
	}
	if math.IsNaN(v) || v < float64(s.min) || v > float64(s.max) {
		r.i = at
		return refuseRange
	}
	*p = v
	return accepted
}

// decodeEnum reads an enumeration as its name or as its code.
func decodeEnum(r *reader, s *spec, p *uint8) refusal {
	at := r.i
	name, code := r.str(MaxToken)
	switch code {
	case refuseType:
		v, code := r.ranged(s.min, s.max)
		*p = uint8(v)
		return code
	case accepted:
		for i := int(s.min); i < len(s.names); i++ {
			if s.names[i] == string(name) {
				*p = uint8(i)
				return accepted
			}
		}
		r.i = at
		return refuseRange
	}
	return code
}

func decodeString(d *Decoder, s *spec, p *string) refusal {
	at := d.r.i
	b, code := d.r.str(s.max)
	if code != accepted {
		return code
	}
	ok := true
	if s.typ == typeToken {
		if ok = validToken(b) && string(b) != BatchQueue; ok {
			*p = d.names.get(b)
		} else {
			code = refuseToken
		}
	} else if utf8.Valid(b) {
		*p = d.names.get(b)
	} else {
		code = refuseText
	}
	if code != accepted {
		d.r.i = at
	}
	return code
}

func decodeList(d *Decoder, s *spec, p any) refusal {
	r := &d.r
	if p, ok := p.(*[]byte); ok {
		b, code := r.bin(s.max)
		*p = append((*p)[:0], b...)
		return code
	}
	at := r.i
	n, code := r.array()
	if code != accepted {
		return code
	}
	if uint64(n) < s.min || uint64(n) > s.max {
		r.i = at
		return refuseRange
	}
	switch p := p.(type) {
	case *[]uint32:
		*p = resize(*p, n)
		return r.words(*p)
	case *[3]uint32:
		return r.words(p[:])
	case *[]string:
		return decodeEach(d, p, n, decodeName)
	case *[]Slot:
		if cap(*p) == 0 && n >= manySlots {
			*p = slotList()
		}
		return decodeEach(d, p, n, decodeSlot)
	case *[]Run:
		return decodeRuns(d, p, n)
	case *[]Fault:
		return decodeEach(d, p, n, decodeFault)
	case *[]Opcode:
		return decodeEach(d, p, n, decodeOpcode)
	case *[]Reason:
		return decodeEach(d, p, n, decodeReason)
	}
	panic("telemetry: schema: field " + s.name + " has no decoder")
}

// decodeEach reads the n elements of a list.
func decodeEach[E any](d *Decoder, list *[]E, n int, one func(*Decoder, *E) refusal) refusal {
	*list = resize(*list, n)
	for i := range *list {
		if code := one(d, &(*list)[i]); code != accepted {
			return code
		}
	}
	return accepted
}

// decodeName reads a text that is likely to come again.
func decodeName(d *Decoder, name *string) refusal {
	b, code := d.r.str(MaxToken)
	if code != accepted {
		return code
	}
	if !utf8.Valid(b) {
		return refuseText
	}
	*name = d.names.get(b)
	return accepted
}

// resize returns a slice of n elements with unspecified contents. n has been
// checked against the field's cap and the bytes left.
func resize[E any](s []E, n int) []E {
	if n <= cap(s) {
		return s[:n]
	}
	return make([]E, n)
}

// shortWords fills out with integers as encoders write them, and reports false, having read
// nothing, if one is written otherwise or the payload may end before them: words looks at
// those one by one. A bound for all of them saves half of the time of a slot.
func (r *reader) shortWords(out []uint32) bool {
	b := r.b[r.i:]
	if len(b) < 5*len(out) {
		return false
	}
	i := 0
	for k := range out {
		switch c := b[i]; {
		case c <= codePosFixMax:
			out[k] = uint32(c)
			i++
		case c == codeUint8:
			out[k] = uint32(b[i+1])
			i += 2
		case c == codeUint16:
			out[k] = uint32(binary.BigEndian.Uint16(b[i+1:]))
			i += 3
		case c == codeUint32:
			out[k] = binary.BigEndian.Uint32(b[i+1:])
			i += 5
		default:
			return false
		}
	}
	r.i += i
	return true
}

// words fills out with 32-bit integers.
func (r *reader) words(out []uint32) refusal {
	if r.shortWords(out) {
		return accepted
	}
	for i := range out {
		v, code := r.uint()
		if code != accepted {
			return code
		}
		if v > maxU32 {
			return refuseRange
		}
		out[i] = uint32(v)
	}
	return accepted
}

// row reads the head of a row of at least want elements.
func (r *reader) row(want int) (n int, code refusal) {
	n, code = r.array()
	if code == accepted && n < want {
		code = refuseRange
	}
	return n, code
}

// rest steps over the elements of a row that this version does not know.
func (r *reader) rest(n int) refusal {
	for ; n > 0; n-- {
		if code := r.skip(); code != accepted {
			return code
		}
	}
	return accepted
}

// refuseElement refuses an element of a list, and says what is wrong with it.
func (d *Decoder) refuseElement(format string, args ...any) refusal {
	d.inside = fmt.Errorf(format, args...)
	return refuseRange
}

// decodeSlot reads [opcode, priority, arg0..arg11]. A slot is executed, so
// unlike everywhere else elements beyond the last known one are refused.
func decodeSlot(d *Decoder, s *Slot) refusal {
	r := &d.r
	n, code := r.row(2)
	if code != accepted {
		return code
	}
	if n > 2+MaxSlotArgs {
		return d.refuseElement("a slot of %d arguments, want at most %d", n-2, MaxSlotArgs)
	}
	*s = Slot{}
	var head [2]uint32
	if code := r.words(head[:]); code != accepted {
		return code
	}
	if head[1] > MaxPriority {
		return d.refuseElement("a slot of priority %d, want 0..%d", head[1], MaxPriority)
	}
	s.Opcode, s.Priority = head[0], head[1]
	return r.words(s.Args[:n-2])
}

// decodeFault reads [index, code].
func decodeFault(d *Decoder, f *Fault) refusal {
	r := &d.r
	n, code := r.row(2)
	if code != accepted {
		return code
	}
	var words [2]uint32
	if code := r.words(words[:]); code != accepted {
		return code
	}
	f.Index, f.Code = words[0], words[1]
	return r.rest(n - 2)
}

// decodeOpcode reads [id, name].
func decodeOpcode(d *Decoder, out *Opcode) refusal {
	r := &d.r
	n, code := r.row(2)
	if code != accepted {
		return code
	}
	var id [1]uint32
	if code := r.words(id[:]); code != accepted {
		return code
	}
	name, code := r.str(MaxToken)
	if code != accepted {
		return code
	}
	if !utf8.Valid(name) {
		return refuseText
	}
	out.ID, out.Name = id[0], d.names.get(name)
	return r.rest(n - 2)
}

// decodeReason reads [rule, threshold, value, distance, held].
func decodeReason(d *Decoder, out *Reason) refusal {
	r := &d.r
	n, code := r.row(5)
	if code != accepted {
		return code
	}
	rule, code := r.str(MaxToken)
	if code != accepted {
		return code
	}
	if !utf8.Valid(rule) {
		return refuseText
	}
	out.Rule = d.names.get(rule)
	for _, p := range [...]*uint64{&out.Threshold, &out.Value, &out.Distance} {
		if *p, code = r.uint(); code != accepted {
			return code
		}
	}
	if out.Held, code = r.bool(); code != accepted {
		return code
	}
	return r.rest(n - 5)
}

// interner returns the same string for the same bytes without allocating, for
// the strings that come again and again: queue names, rules, device names. A
// flood of new strings empties it, so its size is bounded by maxInterned
// strings of at most MaxText bytes.
type interner struct {
	table map[string]string
}

const maxInterned = 1024

func (t *interner) get(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if s, ok := t.table[string(b)]; ok {
		return s
	}
	s := string(b)
	if len(b) > MaxText {
		return s
	}
	switch {
	case t.table == nil:
		t.table = make(map[string]string)
	case len(t.table) >= maxInterned:
		clear(t.table) // keeps its memory: a flood costs the strings alone
	}
	t.table[s] = s
	return s
}
