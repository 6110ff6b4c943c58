package natstest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Patience bounds every wait. It is no part of what tests prove.
const Patience = time.Minute

// Must ends a test in which something has failed that it does not prove. Tests of rapid are tests, too.
func Must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// binary is a nats-server built from the module's own dependency, once for a process.
var binary struct {
	once      sync.Once
	dir, path string
	err       error
}

// Remove removes the binary that was built. A package calls it when its tests have run.
func Remove() {
	if binary.dir != "" {
		os.RemoveAll(binary.dir)
	}
}

func build(t testing.TB) string {
	t.Helper()
	b := &binary
	b.once.Do(func() {
		if b.dir, b.err = os.MkdirTemp("", "natstest-"); b.err != nil {
			return
		}
		b.path = filepath.Join(b.dir, "nats-server")
		if out, err := exec.Command("go", "build", "-o", b.path, "github.com/nats-io/nats-server/v2").CombinedOutput(); err != nil {
			b.err = fmt.Errorf("build nats-server: %w\n%s", err, out)
		}
	})
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.path
}

// Process is a nats-server of its own, which a test may kill and start again on the same port and store.
type Process struct {
	Args []string
	URL  string

	t    testing.TB
	cmd  *exec.Cmd
	done chan struct{} // closed when its output has ended
}

// Start starts a server with JetStream, which ends with the test.
func Start(t testing.TB) *Process {
	t.Helper()
	port := ReservePort(t)
	p := &Process{
		t: t, URL: fmt.Sprintf("nats://127.0.0.1:%d", port),
		Args: []string{"-a", "127.0.0.1", "-p", fmt.Sprint(port), "-js", "-sd", t.TempDir()},
	}
	p.Start()
	t.Cleanup(p.Kill)
	return p
}

// ReservePort returns a port that the system gives to nobody who asks for any, and that refuses connections
// unless a server listens there, until the test ends. A socket that is bound and does not listen holds it: it
// does not keep a server that names the port from listening, because both set SO_REUSEADDR.
func ReservePort(t testing.TB) int {
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

// Start returns when the server says that it is ready.
func (p *Process) Start() {
	p.t.Helper()
	p.cmd = exec.Command(build(p.t), p.Args...)
	out, err := p.cmd.StderrPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
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
	case <-time.After(Patience):
		p.t.Fatal("nats-server is not ready")
	}
}

// Kill ends the server as a crash would.
func (p *Process) Kill() {
	if p.cmd == nil {
		return
	}
	p.cmd.Process.Kill()
	<-p.done
	p.cmd.Wait()
	p.cmd = nil
}

// Restart kills the server and starts it again.
func (p *Process) Restart() {
	p.t.Helper()
	p.Kill()
	p.Start()
}

// Stop has the server hang, until Continue, and returns when it does.
func (p *Process) Stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	for until := time.Now().Add(Patience); !stopped(p.cmd.Process.Pid); time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			p.t.Fatal("nats-server does not stop")
		}
	}
}

// Continue has a server that hangs go on.
func (p *Process) Continue() { p.signal(syscall.SIGCONT) }

func (p *Process) signal(s os.Signal) {
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// stopped reports whether every thread of a process is stopped.
func stopped(pid int) bool {
	stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	for _, name := range stats {
		stat, err := os.ReadFile(name)
		if _, state, ok := strings.Cut(string(stat), ") "); err != nil || !ok || state[0] != 'T' {
			return false
		}
	}
	return err == nil && len(stats) > 0
}

// Cluster starts three servers that keep streams together, and returns them by name when all three take some.
func Cluster(t testing.TB) (servers map[string]*Process, urls string) {
	t.Helper()
	var routes, all []string
	ports := make([]int, 3)
	for i := range ports {
		ports[i] = ReservePort(t)
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", ports[i]))
	}
	servers = make(map[string]*Process)
	for i, port := range ports {
		name, client := fmt.Sprint("n", i), ReservePort(t)
		p := &Process{
			t: t, URL: fmt.Sprintf("nats://127.0.0.1:%d", client),
			Args: []string{
				"-a", "127.0.0.1", "-p", fmt.Sprint(client), "-js", "-sd", t.TempDir(), "--server_name", name,
				"--cluster_name", "test", "--cluster", fmt.Sprintf("nats://127.0.0.1:%d", port), "--routes", strings.Join(routes, ","),
			},
		}
		p.Start()
		t.Cleanup(p.Kill)
		servers[name], all = p, append(all, p.URL)
	}
	urls = strings.Join(all, ",")
	waitForStreams(t, urls)
	return servers, urls
}

// waitForStreams returns when the servers keep a stream together.
func waitForStreams(t testing.TB, urls string) {
	t.Helper()
	nc, err := nats.Connect(urls)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc, jetstream.WithDefaultTimeout(time.Second))
	if err != nil {
		t.Fatal(err)
	}
	probe := jetstream.StreamConfig{Name: "PROBE", Subjects: []string{"probe"}, Replicas: 3}
	for until := time.Now().Add(Patience); ; time.Sleep(50 * time.Millisecond) {
		if _, err = js.CreateStream(t.Context(), probe); err == nil {
			err = js.DeleteStream(t.Context(), "PROBE")
		}
		if err == nil {
			return
		}
		if time.Now().After(until) {
			t.Fatalf("the cluster takes no stream: %v", err)
		}
	}
}
