package main

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
)

// The engine of the test is a publisher that reports launches at a geometry of its own. One
// process decides for it, and another one in the shadow: nobody hears of the second on the
// subjects of the first, and their decisions do not meet.
func TestTheShadowDecidesBesideWhoeverActs(t *testing.T) {
	s := serve(t, "--decide-only")
	ctx, end := context.WithCancel(t.Context())
	defer end() // before which it is told to end
	shadowed := make(chan int, 1)
	go func() {
		shadowed <- execute(ctx, []string{"run", "--shadow", "--nats", s.url}, terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	}()
	announce(t, s.url)
	publishing, stop := context.WithCancel(t.Context())
	published := make(chan struct{})
	go func() {
		defer close(published)
		for publishing.Err() == nil {
			announce(t, s.url)
			ringmaster(t, publishing, `{"kind":"queue","queue":"q","queue_len":64,"take_over":true}
{"kind":"launch","queue":"q","launch":1,"status":0,"decision":7,"applied_workgroup_size_x":32,"applied_groups":3,"applied_claim_chunk":32,"elapsed_ns":90000,"time_source":1,"executed":64}
`, "publish", "--nats", s.url, "--worker", "w1")
		}
	}()
	picture := filepath.Join(t.TempDir(), "shadow.svg")
	for {
		got := ringmaster(t, t.Context(), "", "shadow", "report", "--nats", s.url, "--for", "1s", "--picture", picture)
		if strings.Contains(got.stdout, "launches differ from the advice") && strings.Contains(got.stdout, "the engine ran 32x3x32") {
			if got.code != 0 || !strings.Contains(got.stdout, "is not known: the engine ran fewer than 8 launches at ") {
				t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
			}
			if drawn, err := os.ReadFile(picture); err != nil || !strings.Contains(string(drawn), ">w1.q</text>") {
				t.Errorf("the picture: %v, %s", err, drawn)
			}
			break
		}
		if t.Context().Err() != nil {
			t.Fatalf("%s%s", got.stdout, got.err)
		}
	}
	stop()
	<-published
	for _, prefix := range []string{"ringmaster.v1", "ringmaster.v1.shadow"} {
		got := ringmaster(t, t.Context(), "", "replay", "--stream", "--nats", s.url, "--prefix", prefix, "--queue", "w1.q")
		if got.code != 0 || !strings.Contains(got.stdout, "every decision replays byte for byte") {
			t.Errorf("%s: exit code %d: %s%s", prefix, got.code, got.stdout, got.err)
		}
	}
	if got := ringmaster(t, t.Context(), "", "audit", "--nats", s.url); !strings.Contains(got.stdout, "by 1 process") {
		t.Errorf("the shadow's decisions are among the others: %s%s", got.stdout, got.err)
	}
	askTheShadow(t, s.url)
	if code := <-shadowed; code != 0 {
		t.Errorf("the shadow ended with exit code %d", code)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

// askTheShadow asks the process that decides in the shadow, which is another service than the one that acts, and ends it.
func askTheShadow(t *testing.T, url string) {
	t.Helper()
	conn := askerOn(t, url)
	for _, service := range []string{natsio.ServiceName, natsio.ShadowServiceName} {
		var info micro.Info
		m, err := conn.NATS().Request("$SRV.INFO."+service, nil, clientPatience)
		if err != nil || json.Unmarshal(m.Data, &info) != nil || info.Name != service || len(info.Endpoints) != 5 {
			t.Fatalf("%s: %v, %+v", service, err, info)
		}
		for _, e := range info.Endpoints {
			if strings.HasPrefix(e.Subject, "ringmaster.v1.shadow.") != (service == natsio.ShadowServiceName) {
				t.Errorf("%s answers on %s", service, e.Subject)
			}
		}
		if service == natsio.ServiceName {
			continue
		}
		var state worker.State
		if conn.ask("shadow.state."+info.ID, &state); len(state.Queues) != 1 || state.Queues[0].Worker != "w1" || state.Queues[0].Plan.Width == 0 {
			t.Errorf("%+v", state)
		}
		var config worker.Settings
		if conn.ask("shadow.config."+info.ID, &config); !slices.Contains(config.Settings, worker.Setting{Name: "shadow", Value: "true", From: "command line"}) {
			t.Errorf("%+v", config)
		}
		var why explain.Explanation
		if conn.ask("shadow.explain.w1.q", &why); why.Number == 0 {
			t.Errorf("%+v", why)
		}
		conn.ask("shadow.drain."+info.ID, &worker.Draining{})
	}
}

func TestShadowUsage(t *testing.T) {
	for _, args := range []string{"run --shadow --execute-only", "run --shadow --pool p", "run --shadow --window"} {
		if got := ringmaster(t, t.Context(), "", strings.Fields(args)...); got.code == 0 || !strings.Contains(got.err, "--shadow acts on nothing") {
			t.Errorf("%s: exit code %d, %s", args, got.code, got.err)
		}
	}
	if got := ringmaster(t, t.Context(), "", "shadow", "report", "--for", "0s"); got.code != 2 {
		t.Errorf("exit code %d", got.code)
	}
}
