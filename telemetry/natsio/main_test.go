package natsio

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/embedded"
)

// patience bounds every wait of the tests. It is no part of what they prove.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if dir := binary.dir; dir != "" {
			os.RemoveAll(dir)
		}
		os.Exit(code)
	}))
}

// binary is a nats-server built from the module's own dependency, once.
var binary struct {
	once sync.Once
	dir  string
	path string
	err  error
}

func serverBinary(t *testing.T) string {
	t.Helper()
	b := &binary
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "natsio-test-"); b.err != nil {
			return
		}
		b.path = filepath.Join(b.dir, "nats-server")
		out, err := exec.Command("go", "build", "-o", b.path, "github.com/nats-io/nats-server/v2").CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("build nats-server: %w\n%s", err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// process is a nats-server of its own, which a test may kill and start again
// on the same port and store.
type process struct {
	t    *testing.T
	args []string
	url  string
	cmd  *exec.Cmd
	done chan struct{} // closed when its output has ended
}

func startProcess(t *testing.T) *process {
	t.Helper()
	port := reservePort(t)
	p := &process{
		t:    t,
		args: []string{"-a", "127.0.0.1", "-p", fmt.Sprint(port), "-js", "-sd", t.TempDir()},
		url:  fmt.Sprintf("nats://127.0.0.1:%d", port),
	}
	p.start()
	t.Cleanup(p.kill)
	return p
}

// reservePort returns a port that the system gives to nobody who asks for any, and that
// refuses connections unless a server listens there, until the test ends. A socket that
// is bound and does not listen holds it: it does not keep a server that names the port
// from listening, because both set SO_REUSEADDR.
func reservePort(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}})
	}
	var bound syscall.Sockaddr
	if err == nil {
		bound, err = syscall.Getsockname(fd)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bound.(*syscall.SockaddrInet4).Port
}

// start returns when the server says that it is ready.
func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(serverBinary(p.t), p.args...)
	out, err := p.cmd.StderrPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	ready := make(chan bool, 1)
	p.done = make(chan struct{})
	go func() {
		defer close(p.done)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if strings.Contains(lines.Text(), "Server is ready") {
				ready <- true
			}
		}
		io.Copy(io.Discard, out)
		close(ready)
	}()
	select {
	case ok := <-ready:
		if !ok {
			p.t.Fatal("nats-server ended before it was ready")
		}
	case <-time.After(patience):
		p.t.Fatal("nats-server is not ready")
	}
}

// kill ends the server as a crash would.
func (p *process) kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.done
	p.cmd.Wait()
	p.cmd = nil
}

func (p *process) restart() {
	p.t.Helper()
	p.kill()
	p.start()
}

// testContext ends with the test's patience.
func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func newServer(t *testing.T) *embedded.Server {
	t.Helper()
	s, err := embedded.Start(embedded.DefaultConfig())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Shutdown)
	return s
}

// fastConfig reconnects without the pauses that a production network needs.
func fastConfig(url string) Config {
	cfg := DefaultConfig()
	cfg.URL = url
	cfg.ReconnectMin, cfg.ReconnectMax = time.Millisecond, 20*time.Millisecond
	return cfg
}

func dial(t *testing.T, cfg Config) *Conn {
	t.Helper()
	c, err := Connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Closed()
	})
	if err := c.WaitState(testContext(t), StateConnected); err != nil {
		t.Fatal(err)
	}
	return c
}

// flush makes sure that the server knows the connection's subscriptions and
// publications.
func flush(t *testing.T, c *Conn) {
	t.Helper()
	if err := c.Flush(testContext(t)); err != nil {
		t.Fatal(err)
	}
}

// askFor publishes records and waits for the recommendation that takes them into account.
func askFor(ctx context.Context, c *Conn, worker, queue string, payload []byte) (telemetry.Header, telemetry.Recommendation, error) {
	r, err := c.Ask(ctx, c.cfg.Subjects.Telemetry(worker, queue), payload, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot)
	if err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return r.Header, r.Recommendation, nil
}

// snapshotOf asks for the last recommendation for a queue.
func snapshotOf(ctx context.Context, c *Conn, worker, queue string) (telemetry.Header, telemetry.Recommendation, error) {
	r, err := c.Ask(ctx, c.cfg.Subjects.Snapshot(worker, queue), nil, telemetry.DefaultTelemetryLimits, telemetry.SubjectSnapshot)
	if err != nil {
		return telemetry.Header{}, telemetry.Recommendation{}, err
	}
	return r.Header, r.Recommendation, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("channel closed")
		}
		return v
	case <-time.After(patience):
		t.Fatal("nothing arrived")
	}
	panic("unreachable")
}

// logLines collects the messages of a logger.
type logLines struct{ lines chan string }

func newLog() (*slog.Logger, *logLines) {
	l := &logLines{lines: make(chan string, 1000)}
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})), l
}

func (l *logLines) Write(p []byte) (int, error) {
	select {
	case l.lines <- string(p):
	default:
	}
	return len(p), nil
}

// wait returns the first line that contains text.
func (l *logLines) wait(t *testing.T, text string) string {
	t.Helper()
	for {
		if line := receive(t, l.lines); strings.Contains(line, text) {
			return line
		}
	}
}

// queueRecord encodes a queue record; length tells records apart.
func queueRecord(length uint32, queue string) []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1, Queue: queue}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: length})
}

// badRecord is a well-formed record whose kind exists and whose value does not fit.
func badRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	g := telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10001}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &g)
}

func priorityRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	return telemetry.Append(nil, telemetry.EncodingMap, h, &telemetry.Priority{Has: telemetry.HasPriority, Priority: 1})
}

func workerRecord() []byte {
	h := telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}
	w := telemetry.Worker{Has: telemetry.HasAllWorker, MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 1024, MaxInvocationsPerWorkgroup: 256}
	return telemetry.Append(nil, telemetry.EncodingArray, h, &w)
}

// publishTelemetry sends records of a queue.
func publishTelemetry(c *Conn, worker, queue string, payload []byte) error {
	return c.publish(c.Subjects().Telemetry(worker, queue), payload)
}
