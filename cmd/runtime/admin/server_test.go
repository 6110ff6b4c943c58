package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/health"
)

// config serves metrics that say nothing, and health by two lists.
func config(live, ready *[]health.Reason) Config {
	return Config{
		Addr: "127.0.0.1:0", Log: slog.New(slog.DiscardHandler),
		Metrics: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ringmaster_up 1") }),
		Live:    func() []health.Reason { return *live }, Ready: func() []health.Reason { return *ready },
	}
}

func start(t *testing.T, cfg Config) *Server {
	t.Helper()
	s, err := Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close(context.Background()) })
	return s
}

// get asks, with headers in pairs.
func get(t *testing.T, s *Server, path string, headers ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.Addr().String()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
		r.Header.Set(headers[i], headers[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

func TestHealthSaysWhatIsWrong(t *testing.T) {
	var live, ready []health.Reason
	s := start(t, config(&live, &ready))
	if code, text := get(t, s, "/readyz"); code != 200 || text != "ready\n" {
		t.Errorf("%d %q", code, text)
	}
	ready = []health.Reason{{Code: health.BusAway, Text: "NATS does not answer"}}
	if code, text := get(t, s, "/readyz"); code != 503 || text != "not ready\nbus_away: NATS does not answer\n" {
		t.Errorf("%d %q", code, text)
	}
	code, text := get(t, s, "/readyz?format=json")
	var h Health
	if err := json.Unmarshal([]byte(text), &h); err != nil || code != 503 || h.OK || len(h.Reasons) != 1 || h.Reasons[0] != ready[0] {
		t.Errorf("%d %q", code, text)
	}
	if code, text := get(t, s, "/livez", "Accept", "application/json"); code != 200 || text != `{"ok":true,"reasons":[]}`+"\n" {
		t.Errorf("%d %q", code, text)
	}
}

func TestOnlyWhoMayReadIsAnswered(t *testing.T) {
	var none []health.Reason
	open := start(t, config(&none, &none))
	if code, _ := get(t, open, "/metrics"); code != 200 {
		t.Errorf("loopback: %d", code)
	}
	if code, _ := get(t, open, "/metrics", "Host", "evil.example"); code != http.StatusMisdirectedRequest {
		t.Errorf("a name that a web page chose: %d", code)
	}
	for _, path := range []string{"/debug/pprof/", "/nothing"} {
		if code, _ := get(t, open, path); code != 404 {
			t.Errorf("%s: %d", path, code)
		}
	}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := config(&none, &none)
	cfg.TokenFile, cfg.Pprof = token, true
	closed := start(t, cfg)
	for _, headers := range [][]string{nil, {"Authorization", "Bearer 0123456789abcdeF"}, {"Authorization", "0123456789abcde"}} {
		if code, _ := get(t, closed, "/metrics", headers...); code != 401 {
			t.Errorf("%v: %d", headers, code)
		}
	}
	for _, path := range []string{"/metrics", "/debug/pprof/"} {
		if code, _ := get(t, closed, path, "Authorization", "Bearer 0123456789abcdef"); code != 200 {
			t.Errorf("%s: %d", path, code)
		}
	}
}

func TestWhatWouldBeOpenToAllDoesNotStart(t *testing.T) {
	var none []health.Reason
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(path, []byte(text), mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		want string
		with func(*Config)
	}{
		{"everybody who reaches it", func(c *Config) { c.Addr = "0.0.0.0:0" }},
		{"everybody who reaches it", func(c *Config) { c.Addr = ":0" }},
		{"want HOST:PORT", func(c *Config) { c.Addr = "8420" }},
		{"at least 16 bytes", func(c *Config) { c.TokenFile = file("short", "secret", 0o600) }},
		{"chmod o=", func(c *Config) { c.TokenFile = file("readable", "0123456789abcdef", 0o644) }},
		{"no such file", func(c *Config) { c.TokenFile = filepath.Join(dir, "none") }},
		{"certificate", func(c *Config) { c.CertFile = file("cert", "none", 0o600); c.KeyFile = c.CertFile }},
		{"needs a certificate and a key", func(c *Config) { c.ClientCAFile = file("ca", "none", 0o600) }},
	} {
		cfg := config(&none, &none)
		c.with(&cfg)
		if s, err := Start(cfg); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("want an error with %q, got %v", c.want, err)
			if err == nil {
				s.Close(context.Background())
			}
		}
	}
	first := start(t, config(&none, &none))
	cfg := config(&none, &none)
	cfg.Addr = first.Addr().String()
	if _, err := Start(cfg); !errors.Is(err, ErrPortTaken) {
		t.Errorf("the port of another: %v", err)
	}
}

// Clients that connect and say nothing do not keep others out for longer than they are let to.
func TestConnectionsAreBounded(t *testing.T) {
	var none []health.Reason
	s := start(t, config(&none, &none))
	var idle []net.Conn
	for range maxConnections {
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		idle = append(idle, c)
	}
	more, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer more.Close()
	if _, err := more.Read(make([]byte, 1)); err == nil {
		t.Error("a connection too many was served")
	}
	for _, c := range idle {
		c.Close()
	}
	for range 1000 { // the server finds out by itself
		c, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "GET /livez HTTP/1.0\r\nHost: localhost\r\n\r\n")
		text, _ := io.ReadAll(c)
		c.Close()
		if strings.Contains(string(text), "live") {
			return
		}
	}
	t.Error("no place is free after the others left")
}
