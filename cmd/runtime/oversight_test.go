package main

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/oversight"
)

// serviceManager is the socket of a service manager with a watchdog, whose children the processes of the test are, and
// returns what waits until it hears something.
func serviceManager(t *testing.T) (heard func(want string)) {
	t.Helper()
	manager := filepath.Join(t.TempDir(), "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: manager, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	t.Setenv("NOTIFY_SOCKET", manager)
	t.Setenv("WATCHDOG_USEC", "20000")
	return func(want string) {
		t.Helper()
		buf := make([]byte, 4096)
		for {
			if err := socket.SetReadDeadline(time.Now().Add(clientPatience)); err != nil {
				t.Fatal(err)
			}
			n, err := socket.Read(buf)
			if err != nil {
				t.Fatalf("the manager did not hear %s: %v", want, err)
			}
			if strings.Contains(string(buf[:n]), want) {
				return
			}
		}
	}
}

// A process says over HTTP that it starts while NATS is away, that it is ready when it serves, and its service manager
// hears that it is ready, lives and stops.
func TestRunIsSeenFromOutside(t *testing.T) {
	heard := serviceManager(t)
	addr := freeAddr(t)
	get := func(path string) (int, string) {
		t.Helper()
		for end := time.Now().Add(clientPatience); ; {
			answer, err := http.Get("http://" + addr + path)
			if err == nil {
				text, _ := io.ReadAll(answer.Body)
				answer.Body.Close()
				return answer.StatusCode, string(text)
			}
			if time.Now().After(end) {
				t.Fatal(err)
			}
		}
	}
	url := serverOf(t)
	n := startNode(t, url, "--decide-only", "--http", addr)
	heard("READY=1")
	heard("WATCHDOG=1")
	if code, text := get("/readyz"); code != 200 || text != "ready\n" {
		t.Errorf("%d %q", code, text)
	}
	publish := func(record string) {
		t.Helper()
		if got := ringmaster(t, t.Context(), record, "publish", "--nats", url, "--worker", "w7", "--queue", "q"); got.code != 0 {
			t.Fatalf("%+v", got)
		}
	}
	counted := func(series ...string) {
		t.Helper()
		for end := time.Now().Add(clientPatience); ; {
			_, text := get("/metrics")
			if !slices.ContainsFunc(series, func(s string) bool { return !strings.Contains(text, "\n"+s+"\n") }) {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("%s is not in:\n%s", series, text)
			}
		}
	}
	// One after the other: the two records go by different subjects, so a queue can be decided before its worker is known,
	// and then a second time.
	publish(`{"kind":"worker","max_workgroup_size_x":256}`)
	counted("ringmaster_workers_known 1")
	publish(`{"kind":"queue","queue_len":300}`)
	counted("ringmaster_decisions_total 1", `ringmaster_queue_decisions_total{queue="q",worker="w7"} 1`, "ringmaster_decision_latency_seconds_count 1")
	for end := time.Now().Add(clientPatience); ; {
		if _, text := get("/"); strings.Contains(text, `href="/queue/w7/q"`) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the queue is not on the page")
		}
	}
	if code, text := get("/queue/w7/q"); code != 200 || !strings.Contains(text, "decision 1,") {
		t.Errorf("%d %s", code, text)
	}
	n.signal(syscall.SIGTERM)
	heard("STOPPING=1")
	<-n.ended
	if err := n.Wait(); err != nil {
		t.Error(err)
	}
}

// While NATS is away at its start a process lives for its service manager, which hears what it waits for. The unit has
// it started again when the watchdog ends it, by the signal with which systemd does that.
func TestTheWatchdogOfAProcessThatWaitsAndOfOneThatHangs(t *testing.T) {
	heard := serviceManager(t)
	n := exec.Command(os.Args[0], "run", "--decide-only", "--nats", "nats://"+freeAddr(t))
	n.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+t.TempDir())
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = n.Process.Kill() }() // it has ended, if nothing failed
	heard("STATUS=starts, and waits for its device or for NATS")
	heard("WATCHDOG=1")
	if err := n.Process.Signal(syscall.SIGABRT); err != nil {
		t.Fatal(err)
	}
	_ = n.Wait() // says what the code says
	unit, err := os.ReadFile("../../deploy/systemd/ringmaster.service")
	if err != nil {
		t.Fatal(err)
	}
	code := n.ProcessState.ExitCode()
	for line := range strings.Lines(string(unit)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); name == "RestartPreventExitStatus" && slices.Contains(strings.Fields(value), strconv.Itoa(code)) {
			t.Errorf("a hung process ends with %d at the watchdog's signal, and is not started again: %s", code, line)
		}
	}
	if !strings.Contains(string(unit), "\nRestart=on-failure\n") || code <= 0 {
		t.Errorf("exit code %d is no failure that the unit restarts after", code)
	}
}

func TestRunSaysThatItStarts(t *testing.T) {
	flags := option.HTTP{Addr: "127.0.0.1:0"}
	seen, err := oversight.Begin(t.Context(), oversight.Config{HTTP: flags.Config(quietLog), Queues: 10, Store: t.TempDir(), Log: quietLog})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	for path, want := range map[string]string{"/readyz": "not ready\nstarting: ", "/livez": "live\n", "/metrics": "ringmaster_build_info"} {
		answer, err := http.Get("http://" + seen.Addr() + path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if got := ringmaster(t, t.Context(), "", "run", "--http", "0.0.0.0:0"); got.code != 1 || !strings.Contains(got.err, "not a loopback address") {
		t.Errorf("%+v", got)
	}
}

// freeAddr is an address of this host at which nobody listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Beyond loopback a client shows a certificate of the authority that was named, or is let nowhere.
func TestMetricsAreForClientsWithACertificate(t *testing.T) {
	ours, theirs := newAuthority(t), newAuthority(t)
	cert, key := ours.issue("localhost", time.Hour)
	flags := option.HTTP{Addr: "0.0.0.0:0", Cert: cert, Key: key, ClientCA: ours.file}
	seen, err := oversight.Begin(t.Context(), oversight.Config{HTTP: flags.Config(quietLog), Queues: 10, Log: quietLog})
	if err != nil {
		t.Fatal(err)
	}
	defer seen.Close()
	_, port, err := net.SplitHostPort(seen.Addr())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(ours.file)
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	for who, a := range map[string]*authority{"a client of the authority": ours, "a client of another": theirs, "a client without": nil} {
		cfg := &tls.Config{RootCAs: trusted}
		if a != nil {
			cert, key := a.issue("client", time.Hour)
			pair, err := tls.LoadX509KeyPair(cert, key)
			if err != nil {
				t.Fatal(err)
			}
			// Whatever the server says that it asks for: a stranger tries what it has.
			cfg.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
		}
		client := http.Client{Transport: &http.Transport{TLSClientConfig: cfg, DisableKeepAlives: true}}
		answer, err := client.Get("https://localhost:" + port + "/metrics")
		if err == nil {
			answer.Body.Close()
		}
		if let := err == nil && answer.StatusCode == http.StatusOK; let != (a == ours) {
			t.Errorf("%s: %v, %v", who, answer, err)
		}
	}
}
