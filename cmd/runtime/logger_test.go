package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/tuner/session"
)

// Programs that read a log find in both formats what people find.
func TestLogRecordsAreReadable(t *testing.T) {
	for _, format := range []string{"text", "json"} {
		var out bytes.Buffer
		newLogger(&out, "info", format).Info("served", "incarnation", uint64(1)<<63+1, "took", 1500*time.Millisecond, "autotuner", session.Reference, "launches", uint64(7))
		want := []string{`incarnation=8000000000000001 took=1.5s autotuner=reference launches=7`}
		if format == "json" {
			want = []string{`"incarnation":"8000000000000001","took":"1.5s","autotuner":"reference","launches":7`, `"level":"INFO"`}
		}
		for _, part := range want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s has no %s", out.String(), part)
			}
		}
	}
}

// What is wrong with a command line is said as every other error is.
func TestAWrongUseIsJSONInAJSONLog(t *testing.T) {
	for _, args := range [][]string{
		{"replay"}, {"replay", "-", "--policy", "/nowhere"}, {"whatif", "-", "--policy", "/nowhere"}, {"adapt", "fpm", "x"}, {"shadow", "report", "--for", "0s"},
		{"top", "--plain", "--count=-1"}, {"top", "--json", "--every=-1s"}, {"watch", "--count=-1"},
	} {
		got := ringmaster(t, t.Context(), "", append([]string{"--log-format", "json"}, args...)...)
		var said struct {
			Error string
			Code  int `json:"exit_code"`
		}
		if err := json.Unmarshal([]byte(got.err), &said); err != nil || got.code != 2 || said.Code != 2 || said.Error == "" {
			t.Errorf("%v: exit code %d, %q, %v", args, got.code, got.err, err)
		}
	}
}

// With --log-format json a program reads every line of the log, from the start to the reason of the end.
func TestAJSONLogIsJSONOnly(t *testing.T) {
	records := func(log string) (all []map[string]any) {
		t.Helper()
		for line := range strings.Lines(log) {
			var r map[string]any
			if err := json.Unmarshal([]byte(line), &r); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			all = append(all, r)
		}
		return all
	}
	t.Setenv("RINGMASTER_RATE", "100")
	ctx, cancel := context.WithCancel(t.Context())
	addr := freeAddr(t)
	go func() {
		defer cancel()
		for end := time.Now().Add(clientPatience); time.Now().Before(end); {
			if answer, err := http.Get("http://" + addr + "/readyz"); err == nil {
				answer.Body.Close()
				if answer.StatusCode == http.StatusOK {
					return
				}
			}
		}
	}()
	got := ringmaster(t, ctx, "", "--log-format", "json", "run", "--decide-only", "--listen", freeAddr(t), "--store", t.TempDir(), "--worker", "w9", "--http", addr, "--otlp-endpoint", "http://user:secret@127.0.0.1:9")
	if got.code != 0 {
		t.Errorf("%+v", got)
	}
	var start, stop map[string]any
	for _, r := range records(got.err) {
		switch msg, _ := r["msg"].(string); {
		case strings.HasPrefix(msg, "serving"):
			start = r
		case strings.HasPrefix(msg, "stopped"):
			stop = r
		}
	}
	for _, key := range []string{"version", "pid", "incarnation", "worker", "prefix", "nats", "device", "policy", "autotuner"} {
		if start[key] == nil {
			t.Errorf("the start does not tell the %s: %v", key, start)
		}
	}
	want := map[string]any{"log_format": "json", "decide_only": "true", "worker": "w9", "http": addr, "rate": "100", "otlp_endpoint": "http://user:xxxxx@127.0.0.1:9"}
	has, _ := start["given"].(map[string]any)
	for key, value := range want {
		if has[key] != value {
			t.Errorf("the start tells of the flag %s: %v, want %v", key, has[key], value)
		}
	}
	if has["drain"] != nil {
		t.Error("the start tells of a flag that nobody gave")
	}
	if stop["took"] == nil || stop["decisions"] == nil {
		t.Errorf("the stop tells %v", stop)
	}

	got = ringmaster(t, t.Context(), "", "--log-format", "json", "run", "--decide-only", "--http", "0.0.0.0:0")
	if all := records(got.err); got.code != 1 || len(all) != 1 || all[0]["level"] != "ERROR" || all[0]["exit_code"] != 1.0 {
		t.Errorf("%+v", got)
	}
}

func TestWithoutAHomeTheStoreIsNamedOrRefused(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	if got := ringmaster(t, t.Context(), "", "run", "--decide-only", "--listen", freeAddr(t)); got.code != 1 || !strings.Contains(got.err, "name a directory with --store") {
		t.Errorf("%+v", got)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	store := t.TempDir()
	if got := ringmaster(t, ended, "", "run", "--decide-only", "--listen", freeAddr(t), "--store", store); got.code != 0 || !strings.Contains(got.err, "store="+store) {
		t.Errorf("%+v", got)
	}
}

// A word that a flag does not take is answered with those that it takes, and where it came from.
func TestAWrongWordIsTracedToTheEnvironment(t *testing.T) {
	t.Setenv("RINGMASTER_MODE", "turbo")
	for want, args := range map[string][]string{
		"ringmaster: RINGMASTER_MODE=turbo: want one of wave, lease, auto\n": {"run"},
		"ringmaster: --mode \"fast\": want one of wave, lease, auto\n":       {"run", "--mode", "fast"},
	} {
		if got := ringmaster(t, t.Context(), "", args...); got.code != 2 || !strings.HasPrefix(got.err, want) {
			t.Errorf("%+v, want %s", got, want)
		}
	}
}
