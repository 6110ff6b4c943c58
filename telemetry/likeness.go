package telemetry

import "encoding/binary"

// quickReach is how many bytes from a record's first one on may be looked at: a
// head of up to 60 bytes, the queue's name included, and the body's window.
const quickReach = 200

type quickWindow [quickReach]byte

func (w *quickWindow) little(at uint8) uint64 {
	i := uint(at) & 127
	return binary.LittleEndian.Uint64(w[i : i+8])
}

func (w *quickWindow) big(at uint8) uint64 {
	i := uint(at) & 127
	return binary.BigEndian.Uint64(w[i : i+8])
}

// headForm says where things are in a head as own publishers write it: minor in
// one byte, incarnation and sent_ns in nine. Two words hold all that has to be
// as expected, the first at the beginning and the second at the code of seq.
type headForm struct {
	mask        [2]uint64
	keep        uint64 // which bits of the eight bytes at seq are its value
	second      uint8
	incarnation uint8
	seq         uint8 // eight bytes that end with the value
	sentNs      uint8
	token       uint8 // the code of the queue's name
}

// headForms by the head of the array, in one byte or three, and the bytes that
// follow the code of seq: 0, 1, 2 or 4.
var headForms = func() (forms [8]headForm) {
	for wide := range 2 {
		for k, size := range [4]int{0, 1, 2, 4} {
			kind := 1 + 2*wide // its position
			f := &forms[4*wide+k]
			seq := kind + 3 + 8
			f.mask[0] = 1<<(8*(kind+3)) - 1
			f.second, f.incarnation = uint8(seq), uint8(kind+3)
			f.mask[1] = 0xff | 0x80ff<<(8*(1+size)) // codes of both, and that sent_ns is not negative
			f.keep = 1<<(8*max(size, 1)) - 1
			if size == 0 {
				f.mask[1] = 0x80 | 0x80ff<<8
			}
			f.seq = uint8(seq + 1 + size - 8)
			f.sentNs = uint8(seq + 1 + size + 1)
			f.token = f.sentNs + 8
		}
	}
	return forms
}()

// noForm is the number of no form.
const noForm = ^uint8(0)

// formOf returns the number of the form of a sound record's head, or noForm.
func formOf(record []byte) uint8 {
	wide := uint8(0)
	if record[0] == codeArray16 {
		wide = 1
	}
	kind := 1 + 2*wide
	if record[kind+1] > codePosFixMax || record[kind+2] != codeUint64 {
		return noForm
	}
	size := uint8(0)
	switch c := record[kind+11]; {
	case c <= codePosFixMax:
	case c == codeUint8:
		size = 1
	case c == codeUint16:
		size = 2
	case c == codeUint32:
		size = 3
	default:
		return noForm
	}
	form := 4*wide + size
	if record[headForms[form].sentNs-1] != codeUint64 {
		return noForm
	}
	return form
}

// likeness is what a record of one queue and kind looked like last time. The
// next one is expected to differ in values only. It has the size of a line of a
// processor's cache.
type likeness struct {
	shape     *shape    // nil: nothing is known
	want      [2]uint64 // under the masks of head
	token     uint64    // the first eight bytes of the queue's name with its code
	tokenMask uint64    // those that it has
	name      string
	head      uint8 // number of the headForm
	size      uint8 // bytes of the name with its code
	minor     uint8
	elements  uint8 // of the record
	place     uint16
	next      uint16 // which likeness the record after it had
}

// likenesses is how many there can be: of both kinds for each place of a token,
// and for no queue.
const likenesses = 2*TokenPlaces + 2

// shapeTable remembers the likenesses of records and which came after which.
// They are numbered in the order in which they came first, so that those of
// records that follow each other lie one after the other.
type shapeTable struct {
	known [1 + likenesses]likeness // the first one is nobody's
	used  uint16                   // of known
	last  uint16                   // likeness of the last record
	// number is where the likeness of a kind and place is, 0 if it has none.
	number [likenesses]uint16
	shapeSet
}

func newShapeTable() *shapeTable { return &shapeTable{shapeSet: shapeSet{credit: firstCredit}} }

// likenessOf is which likeness records of a kind for a queue have, see number.
func likenessOf(kind Kind, queue string, place uint16) uint16 {
	number := (place % TokenPlaces) * 2
	if queue == "" {
		number = 2 * TokenPlaces
	}
	return number + uint16(kind-KindQueue)&1
}

// quick takes the record at the beginning of w if it is like the one that came
// after the last one's predecessor, because publishers name their queues in the
// same order again and again, or else like the last one of its queue. It
// returns the sizes of the record in bytes and elements, 0 if it is another one.
func (t *shapeTable) quick(w *quickWindow, r *Flat) (size, elements int) {
	number := t.known[t.last].next
	if size, elements = t.known[number].take(w, r); size == 0 {
		return t.search(w, r)
	}
	t.last = number
	return size, elements
}

// search is quick for a record that does not follow the last one as it did before.
func (t *shapeTable) search(w *quickWindow, r *Flat) (size, elements int) {
	number := t.find(w)
	if number == nobody {
		return 0, 0
	}
	if size, elements = t.known[number].take(w, r); size == 0 {
		return 0, 0
	}
	t.known[t.last].next = number
	t.last = number
	return size, elements
}

// take takes the record at the beginning of w if it has this likeness.
func (e *likeness) take(w *quickWindow, r *Flat) (size, elements int) {
	s, h := e.shape, &headForms[e.head%uint8(len(headForms))]
	if s == nil {
		return 0, 0
	}
	if (w.little(0)^e.want[0])&h.mask[0]|(w.little(h.second)^e.want[1])&h.mask[1]|(w.little(h.token)^e.token)&e.tokenMask != 0 {
		return 0, 0
	}
	if e.size > 8 && string(w[h.token+8:h.token+e.size]) != e.name[7:] {
		return 0, 0
	}
	at := h.token + e.size
	body := (*bodyWindow)(w[uint(at-bodyMargin)&63:])
	incarnation, seq := w.big(h.incarnation), w.big(h.seq)&h.keep
	if !s.fits(body) || incarnation == 0 || seq == 0 {
		return 0, 0
	}
	r.Kind, r.Minor, r.Incarnation, r.Seq, r.SentNs = s.kind, uint32(e.minor), incarnation, seq, int64(w.big(h.sentNs))
	r.Header.Queue, r.Place = e.name, e.place
	r.shape, r.body, r.values = s, body, nil
	r.requeues, r.executed = s.value(body, queueRequeues), s.value(body, queueExecuted)
	return int(at + s.size), int(e.elements)
}

// nobody is the number of no likeness.
const nobody = 0

// find returns the number of the likeness of the queue and kind that the record
// at the beginning of w seems to have, or nobody.
func (t *shapeTable) find(w *quickWindow) uint16 {
	form := formOf(w[:])
	if form == noForm {
		return nobody
	}
	h := &headForms[form]
	kind := Kind(w[h.incarnation-3])
	c := w[h.token]
	if c == codeNil {
		return t.number[likenessOf(kind, "", 0)]
	}
	name := w[h.token+1 : h.token+1+c&0x1f]
	place := uint16(tokenPlace(name))
	for _, p := range [...]uint16{place, place ^ 1} {
		if number := t.number[likenessOf(kind, "-", p)]; number != nobody && t.known[number].name == string(name) {
			return number
		}
	}
	return nobody
}

// remember notes what a record looks like that was decoded value by value.
func (t *shapeTable) remember(record []byte, body, elements int, r *Flat) {
	place := &t.number[likenessOf(r.Kind, r.Header.Queue, r.Place)]
	if *place == nobody {
		t.used++
		*place = t.used
	}
	number := *place
	t.known[t.last].next = number
	t.last = number
	e := &t.known[number]
	*e = likeness{next: e.next}
	form := formOf(record)
	if form == noForm {
		return
	}
	h := &headForms[form]
	*e = likeness{
		head: form, name: r.Header.Queue, place: r.Place, next: e.next,
		want: [2]uint64{binary.LittleEndian.Uint64(record), binary.LittleEndian.Uint64(record[h.second:])},
		size: uint8(body) - h.token, elements: uint8(elements), minor: uint8(r.Minor),
		shape: t.learn(r.Kind, elements-bodyStart, record[body:]),
	}
	for i := range min(int(e.size), 8) {
		e.token |= uint64(record[int(h.token)+i]) << (8 * i)
		e.tokenMask |= 0xff << (8 * i)
	}
}
