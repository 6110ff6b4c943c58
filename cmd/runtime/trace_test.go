package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/trace"
)

// What `publish` sends under TRACEPARENT is followed to the recommendation, which says where the trace goes on, and to
// the launch that applies it; a collector gets the spans.
func TestATraceGoesThroughADecision(t *testing.T) {
	type span struct{ TraceID, SpanID, ParentSpanID, Name string }
	spans := make(chan span, 10)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var got struct {
			ResourceSpans []struct{ ScopeSpans []struct{ Spans []span } }
		}
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = json.Unmarshal(body, &got)
		}
		if err != nil {
			t.Error(err)
			return
		}
		for _, s := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			spans <- s
		}
	}))
	defer collector.Close()
	url := serverOf(t)
	n := startNode(t, url, "--decide-only", "--otlp-endpoint", collector.URL)
	conn := bustest.Dial(t, url)
	advice, err := conn.NATS().SubscribeSync(telemetry.Subjects{Prefix: telemetry.DefaultPrefix}.Recommend("w7", "q"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	publish := func(line string) {
		t.Helper()
		if got := ringmaster(t, t.Context(), line+"\n", "publish", "--nats", url, "--worker", "w7", "--queue", "q"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	publish(`{"kind":"worker","max_workgroup_size_x":256}`)
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	t.Setenv("TRACEPARENT", "00-"+traceID+"-b7ad6b7169203331-01")
	publish(`{"kind":"queue","queue_len":300}`)
	m, err := advice.NextMsg(clientPatience)
	if err != nil {
		t.Fatal(err)
	}
	next, ok := trace.Parse(m.Header.Get(trace.Header))
	if !ok {
		t.Fatalf("the recommendation has the header %v", m.Header)
	}
	t.Setenv("TRACEPARENT", "")
	publish(`{"kind":"launch","launch":1,"decision":1,"status":"ok","executed":300,"wall_ns":1000}`)
	n.signal(syscall.SIGTERM)
	<-n.ended
	decide, launch := <-spans, <-spans
	if decide.Name != "decide" || decide.TraceID != traceID || decide.ParentSpanID != "b7ad6b7169203331" || next.String() != "00-"+traceID+"-"+decide.SpanID+"-01" {
		t.Errorf("%+v, then %v", decide, next)
	}
	if launch.Name != "launch" || launch.TraceID != traceID || launch.ParentSpanID != decide.SpanID {
		t.Errorf("%+v", launch)
	}
}
