package telemetry

import (
	"errors"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// decode reads the next value into v, which is zero.
func (d *DecisionReader) decode(l *layout, v reflect.Value) *layoutFault {
	if d.r.absent() {
		return nil
	}
	switch l.kind {
	case layoutUint:
		n, code := d.r.uint()
		if code != accepted || v.OverflowUint(n) {
			return d.refuse(code, "an integer of %d bits without a sign", l.bits)
		}
		v.SetUint(n)
	case layoutInt:
		// A time before 1970 does not occur, so the reader's range is enough.
		n, code := d.r.uint()
		if code != accepted || n > maxI64 {
			return d.refuse(code, "an integer in 0..2^63-1")
		}
		v.SetInt(int64(n))
	case layoutBool:
		b, code := d.r.bool()
		if code != accepted {
			return d.refuse(code, "true or false")
		}
		v.SetBool(b)
	case layoutText:
		b, code := d.r.str(MaxDecisionText)
		if code != accepted || !utf8.Valid(b) {
			return d.refuse(code, "UTF-8 of at most %d bytes", MaxDecisionText)
		}
		v.SetString(d.names.get(b))
	case layoutName:
		return d.decodeName(l, v)
	case layoutList:
		return d.decodeList(l, v)
	case layoutGroup:
		return d.decodeGroup(l, v)
	}
	return nil
}

func (d *DecisionReader) decodeName(l *layout, v reflect.Value) *layoutFault {
	b, code := d.r.str(MaxToken)
	if code != accepted {
		return d.refuse(code, "a name")
	}
	value, known := l.codes[string(b)]
	if !known {
		return &layoutFault{err: fmt.Errorf("%q is none of the names of this version", b)}
	}
	v.SetUint(uint64(value))
	return nil
}

func (d *DecisionReader) decodeList(l *layout, v reflect.Value) *layoutFault {
	n, code := d.r.array()
	if code != accepted || n > l.length {
		return d.refuse(code, "a list of at most %d", l.length)
	}
	for i := range n {
		if bad := d.decode(l.elem, v.Index(i)); bad != nil {
			return bad.within(fmt.Sprintf("[%d]", i))
		}
	}
	return nil
}

func (d *DecisionReader) decodeGroup(l *layout, v reflect.Value) *layoutFault {
	start := d.r.i
	n, isMap, code := d.r.container()
	if code == accepted && !isMap {
		code, d.r.i = refuseType, start
	}
	if code != accepted {
		return d.refuse(code, "a map")
	}
	var met uint64
	for range n {
		key, code := d.r.str(MaxDecisionText)
		if code != accepted {
			return d.refuse(code, "a key")
		}
		i, known := l.byName[string(key)]
		if to, was := l.earlier[string(key)]; was {
			group := l.fields[to[0]]
			if bad := d.decode(group.fields[to[1]].layout, v.Field(to[0]).Field(to[1])); bad != nil {
				return bad.within(string(key))
			}
			continue
		}
		if !known {
			d.note(l.path + string(key))
			if d.r.skip() != accepted {
				return &layoutFault{err: errors.New("ends early")}
			}
			continue
		}
		if met&(1<<i) != 0 {
			return &layoutFault{field: l.fields[i].name, err: errors.New("the key occurs twice")}
		}
		met |= 1 << i
		if bad := d.decode(l.fields[i].layout, v.Field(i)); bad != nil {
			return bad.within(l.fields[i].name)
		}
	}
	return nil
}

// refuse describes the value that was found where another was wanted. A code
// of accepted says that the value was read and is out of range.
func (d *DecisionReader) refuse(code refusal, want string, args ...any) *layoutFault {
	if code == accepted {
		return &layoutFault{err: fmt.Errorf("out of range, want "+want, args...)}
	}
	return &layoutFault{err: fmt.Errorf("got %s, want %s", d.r.describe(), fmt.Sprintf(want, args...))}
}
