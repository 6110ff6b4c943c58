package otlp

import (
	"encoding/hex"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"ringmaster/telemetry/trace"
)

// The JSON of https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: ids are hexadecimal, integers of 64
// bits are strings.
type (
	request struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   resource     `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	resource struct {
		Attributes []attribute `json:"attributes"`
	}
	scopeSpans struct {
		Scope scope  `json:"scope"`
		Spans []span `json:"spans"`
	}
	scope struct {
		Name string `json:"name"`
	}
	span struct {
		TraceID    string      `json:"traceId"`
		SpanID     string      `json:"spanId"`
		Parent     string      `json:"parentSpanId"`
		Name       string      `json:"name"`
		Kind       int         `json:"kind"`
		Start      string      `json:"startTimeUnixNano"`
		End        string      `json:"endTimeUnixNano"`
		Attributes []attribute `json:"attributes,omitempty"`
		Status     *status     `json:"status,omitempty"`
	}
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		Text   *string `json:"stringValue,omitempty"`
		Number *string `json:"intValue,omitempty"`
	}
	status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
)

const (
	kindInternal = 1
	statusError  = 2
)

// encode is a request with spans of one process.
func encode(of map[string]string, spans []trace.Span) []byte {
	var from resource
	for _, key := range slices.Sorted(maps.Keys(of)) {
		from.Attributes = append(from.Attributes, textOf(key, of[key]))
	}
	all := make([]span, len(spans))
	for i := range spans {
		all[i] = spanOf(&spans[i])
	}
	body, err := json.Marshal(request{[]resourceSpans{{from, []scopeSpans{{scope{"ringmaster"}, all}}}}})
	if err != nil {
		panic(err) // strings and numbers have a JSON form
	}
	return body
}

func spanOf(s *trace.Span) span {
	out := span{
		TraceID: hex.EncodeToString(s.Trace[:]), SpanID: hex.EncodeToString(s.Span[:]), Parent: hex.EncodeToString(s.Parent[:]),
		Name: s.Name, Kind: kindInternal, Start: nanoseconds(s.Start), End: nanoseconds(s.End),
	}
	for _, a := range s.Attributes {
		switch v := a.Value.(type) {
		case uint64:
			n := strconv.FormatInt(int64(min(v, math.MaxInt64)), 10)
			out.Attributes = append(out.Attributes, attribute{a.Key, value{Number: &n}})
		case string:
			out.Attributes = append(out.Attributes, textOf(a.Key, v))
		}
	}
	if s.Error != "" {
		out.Status = &status{statusError, s.Error}
	}
	return out
}

func textOf(key, text string) attribute { return attribute{key, value{Text: &text}} }

func nanoseconds(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }
