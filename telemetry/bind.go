package telemetry

// target is a field of one particular Record: the schema's row with the
// accessor already applied. Binding ahead takes the calls of the accessors
// out of the decoding loop.
type target struct {
	typ      fieldType
	min, max uint64
	u16      *uint16
	u32      *uint32
	u64      *uint64
	i64      *int64
	at       any // pointer, for the types that are not integers
	spec     *spec
}

// binding is a kind's schema bound to one Record.
type binding struct {
	kind     Kind
	targets  []target // by array position, header included
	keys     map[string]int
	required uint64
	has      *Presence // nil for the kinds that are always sent whole
}

// bind binds the body that r.Kind names.
func bind(r *Record) *binding {
	b := r.Body()
	return b.rows().bind(&r.Header, b)
}

func (s *schema[T]) bind(h *Header, of Body) *binding {
	body := of.(any).(*T)
	b := &binding{kind: s.kind, keys: s.keys, required: s.required, targets: make([]target, 0, len(headerFields)+len(s.fields))}
	for i := range headerFields {
		b.targets = append(b.targets, headerFields[i].bind(h))
	}
	for i := range s.fields {
		b.targets = append(b.targets, s.fields[i].bind(body))
	}
	if s.has != nil {
		b.has = s.has(body)
	}
	return b
}

func (f *field[T]) bind(body *T) target {
	t := target{typ: f.typ, min: f.min, max: f.max, spec: &f.spec}
	switch f.typ {
	case typeU16:
		t.u16 = f.u16(body)
	case typeU32:
		t.u32 = f.u32(body)
	case typeU64:
		t.u64 = f.u64(body)
	case typeI64:
		t.i64 = f.i64(body)
	default:
		t.at = f.at(body)
	}
	return t
}

// setInt stores a value that is in the range of the field, so that the
// conversion loses nothing.
func (t *target) setInt(v uint64) {
	switch t.typ {
	case typeU32:
		*t.u32 = uint32(v)
	case typeU64:
		*t.u64 = v
	case typeU16:
		*t.u16 = uint16(v)
	default:
		*t.i64 = int64(v)
	}
}
