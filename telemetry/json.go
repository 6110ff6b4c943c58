package telemetry

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
)

// AppendJSON appends the map encoding of a record that is given as one JSON object
// with the wire's field names. Kind comes from the object; incarnation, seq,
// sent_ns and queue are taken from h where the object lacks them. A fingerprint,
// which the wire has as bytes, is hexadecimal digits here. Only the syntax is judged:
// Check and Decoder say whether the record is valid.
func AppendJSON(dst []byte, h *Header, object []byte) ([]byte, error) {
	fields, err := parseObject(object)
	if err != nil {
		return dst, err
	}
	fill := func(name string, value any) {
		if _, given := fields[name]; !given {
			fields[name] = value
		}
	}
	fill("incarnation", h.Incarnation)
	fill("seq", h.Seq)
	fill("sent_ns", h.SentNs)
	if h.Queue != "" {
		fill("queue", h.Queue)
	}
	out := bytes.NewBuffer(dst)
	enc := msgpack.NewEncoder(out)
	enc.UseCompactInts(true)
	enc.SetSortMapKeys(true)
	if err := enc.Encode(fields); err != nil {
		return dst, err
	}
	return out.Bytes(), nil
}

func parseObject(object []byte) (map[string]any, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	dec.UseNumber()
	var fields map[string]any
	if err := dec.Decode(&fields); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", err)
	}
	if fields == nil {
		return nil, errors.New("want one JSON object, got null")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("want one JSON object, something follows it")
	}
	for name, value := range fields {
		converted, err := fromJSON(value)
		if text, ok := value.(string); ok && name == "fingerprint" {
			converted, err = fromHex(text)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		fields[name] = converted
	}
	return fields, nil
}

func fromHex(text string) ([]byte, error) {
	b, err := hex.DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("want hexadecimal digits, two for each byte: %w", err)
	}
	return b, nil
}

// fromJSON turns a number into the narrowest of uint64, int64 and float64 that
// holds it exactly as written, so that no integer passes through a float.
func fromJSON(value any) (any, error) {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return n, nil
		}
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("number %s does not fit", v)
		}
		return f, nil
	case []any:
		for i := range v {
			converted, err := fromJSON(v[i])
			if err != nil {
				return nil, err
			}
			v[i] = converted
		}
	case map[string]any:
		return nil, errors.New("no field holds an object")
	}
	return value, nil
}

// UnknownFields returns the names in a JSON object that the schema of its kind does not
// have, in order. A receiver skips them, so a misspelled name would lose its value without
// a word. The names of an object that is not valid JSON, or of no known kind, are not judged.
func UnknownFields(object []byte) []string {
	fields, err := parseObject(object)
	if err != nil {
		return nil
	}
	kind := slices.Index(kindNames, fmt.Sprint(fields["kind"]))
	if code, ok := fields["kind"].(uint64); ok && code <= uint64(lastKind) {
		kind = int(code)
	}
	if kind <= int(KindInvalid) {
		return nil
	}
	known := keysOf(Kind(kind))
	var unknown []string
	for name := range fields {
		if _, ok := known[name]; !ok {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// keysOf has the names of a kind's fields, header included.
func keysOf(kind Kind) map[string]int {
	return bind(&Record{Header: Header{Kind: kind}}).keys
}

// FieldNames returns the names that the schema of a kind has, in order.
func FieldNames(kind Kind) []string {
	return slices.Sorted(maps.Keys(keysOf(kind)))
}

// MarshalRecommendationJSON is a recommendation as a JSON object with the
// wire's field names, and the worker, which the wire has in the subject. What it has for
// runtimes is left out. Identifiers are texts, because many readers of JSON keep 53 bits of a
// number: incarnations 16 hexadecimal digits, as everywhere, decisions decimal ones.
func MarshalRecommendationJSON(worker string, h *Header, r *Recommendation) ([]byte, error) {
	var fields map[string]any
	if err := msgpack.Unmarshal(Append(nil, EncodingMap, *h, r), &fields); err != nil {
		return nil, fmt.Errorf("telemetry: %w", err) // our own bytes: a bug in the encoder
	}
	delete(fields, "decided")
	fields["worker"] = worker
	fields["incarnation"], fields["answered_incarnation"] = fmt.Sprintf("%016x", h.Incarnation), fmt.Sprintf("%016x", r.AnsweredIncarnation)
	fields["decision"] = strconv.FormatUint(r.Decision, 10)
	return json.Marshal(fields)
}
