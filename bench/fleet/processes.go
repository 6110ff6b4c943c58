package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"ringmaster/telemetry/natsio"
)

// process is a program that can be killed, stopped and started again.
type process struct {
	name string
	path string
	args []string
	http string // where it is asked for metrics; empty: nowhere
	log  *os.File
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

func (p *process) start() error {
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	p.done = make(chan struct{})
	go func(cmd *exec.Cmd, done chan struct{}) {
		_ = cmd.Wait() // killed, most of the time
		close(done)
	}(p.cmd, p.done)
	return nil
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// end ends the process by a signal and waits for it.
func (p *process) end(s syscall.Signal) {
	p.signal(s)
	<-p.done
}

// fleet is all processes.
type fleet struct {
	programs
	dir      string
	servers  []*process
	deciders []*process
	workers  []*process // with a device
	urls     []string
	net      *network     // nil: all are on the loopback interface
	disks    []*disk      // of the servers; none: their stores share one
	conn     *natsio.Conn // to ask by

	ringmasterPath, serverPath string // which deciders and servers run
}

// programs are the paths of what runs here. What has none is built from the source when it is needed.
type programs struct{ ringmaster, server string }

// find is a program: the one at path, or one built in dir.
func find(path, dir, name, pkg string, env []string, flags ...string) (string, error) {
	if path != "" {
		return exec.LookPath(path)
	}
	path = filepath.Join(dir, name)
	version, _ := exec.Command("git", "describe", "--always", "--dirty").Output()
	flags = append(flags, "-ldflags", "-X main.version="+strings.TrimSpace(string(version)))
	cmd := exec.Command("go", slices.Concat([]string{"build", "-o", path}, flags, []string{pkg})...)
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return path, nil
}

// decider is ringmaster as it decides or adapts, for which it needs no OpenGL.
func (p programs) decider(dir string) (string, error) {
	return find(p.ringmaster, dir, "ringmaster", "./cmd/runtime", []string{"CGO_ENABLED=0"})
}

// worker is ringmaster with OpenGL.
func (p programs) worker(dir string) (string, error) {
	return find(p.ringmaster, dir, "worker", "./cmd/runtime", []string{"CGO_ENABLED=1"}, "-tags", "noglfw,egl")
}

// startFleet starts servers, then processes that decide, with more flags. What they log is in files beside their
// stores. If the servers are apart, each has a network namespace of its own. A core that is not negative is the only
// one of the deciders.
func startFleet(dir string, o options, more ...string) (_ *fleet, err error) {
	f := &fleet{dir: dir, programs: o.programs}
	defer func() {
		if err != nil {
			f.close()
		}
	}()
	f.serverPath, err = find(o.server, dir, "nats-server", "github.com/nats-io/nats-server/v2", []string{"CGO_ENABLED=0"})
	if err != nil {
		return nil, err
	}
	if o.apart {
		if f.net, err = newNetwork(o.servers); err != nil {
			return nil, err
		}
	}
	if err = f.startServers(o); err != nil {
		return nil, err
	}
	if o.deciders == 0 {
		return f, nil
	}
	if f.ringmasterPath, err = o.decider(dir); err != nil {
		return nil, err
	}
	ports, err := freePorts(o.deciders)
	if err != nil {
		return nil, err
	}
	for i := range o.deciders {
		http := fmt.Sprint("127.0.0.1:", ports[i])
		// Each at another server; it knows the others from there.
		args := onCore(o.core, append([]string{f.ringmasterPath, "run", "--decide-only", "--nats", f.urls[i%o.servers], "--http", http, "--http-pprof"}, more...))
		if err := f.add(&f.deciders, fmt.Sprint("decider", i), args[0], args[1:]); err != nil {
			return nil, err
		}
		f.deciders[i].http = http
	}
	return f, nil
}

// onCore is a command that keeps to a core, unless that is negative. It becomes the command, so that signals reach it.
func onCore(core int, args []string) []string {
	if core < 0 {
		return args
	}
	return append([]string{"env", "GOMAXPROCS=1", "taskset", "-c", fmt.Sprint(core)}, args...)
}

// serverConf is the configuration of a server, as docs/operating.md has it.
const serverConf = `jetstream { store_dir: %q, max_file_store: 16GB }
no_fast_producer_stall: %v
`

// startServers starts servers, which keep streams together if there are several.
func (f *fleet) startServers(o options) error {
	servers := o.servers
	ports, err := freePorts(2 * servers)
	if err != nil {
		return err
	}
	var hosts, routes []string
	for i := range servers {
		host := "127.0.0.1"
		if f.net != nil {
			host = f.net.address(i)
		}
		hosts = append(hosts, host)
		f.urls = append(f.urls, fmt.Sprintf("nats://%s:%d", host, ports[2*i]))
		routes = append(routes, fmt.Sprintf("nats://%s:%d", host, ports[2*i+1]))
	}
	for i := range servers {
		store := filepath.Join(f.dir, fmt.Sprint("store", i))
		if o.disks {
			d, err := newDisk(store)
			if err != nil {
				return err
			}
			f.disks = append(f.disks, d)
		}
		conf := store + ".conf"
		if err := os.WriteFile(conf, fmt.Appendf(nil, serverConf, store, !o.stalls), 0o600); err != nil {
			return err
		}
		args := []string{f.serverPath, "-c", conf, "-a", hosts[i], "-p", fmt.Sprint(ports[2*i]), "-n", fmt.Sprint("s", i)}
		if servers > 1 {
			args = append(args, "--cluster_name", "fleet", "--cluster", routes[i], "--routes", strings.Join(routes, ","))
		}
		if f.net != nil {
			args = append(f.net.inside(i), args...) // which becomes the server, so that signals reach it
		}
		if err := f.add(&f.servers, fmt.Sprint("server", i), args[0], args[1:]); err != nil {
			return err
		}
	}
	return nil
}

// connect is a connection to any of the servers, once there is one.
func (f *fleet) connect() (*natsio.Conn, error) {
	cfg := natsio.DefaultConfig()
	cfg.URL = strings.Join(f.urls, ",")
	conn, err := natsio.Connect(cfg)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := conn.WaitState(ctx, natsio.StateConnected); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

func (f *fleet) add(to *[]*process, name, path string, args []string) error {
	log, err := os.Create(filepath.Join(f.dir, name+".log"))
	if err != nil {
		return err
	}
	p := &process{name: name, path: path, args: args, log: log}
	if err := p.start(); err != nil {
		return err
	}
	*to = append(*to, p)
	return nil
}

func (f *fleet) close() {
	for _, p := range slices.Concat(f.workers, f.deciders, f.servers) {
		p.signal(syscall.SIGCONT)
		p.end(syscall.SIGKILL)
		p.log.Close()
	}
	if f.net != nil {
		f.net.close()
	}
	for _, d := range f.disks {
		d.close()
	}
}

// keep moves logs out of a directory that is about to go, and says where they are.
func keep(dir string) string {
	kept := dir + "-logs"
	_ = os.Mkdir(kept, 0o755)
	logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
	for _, log := range logs {
		_ = os.Rename(log, filepath.Join(kept, filepath.Base(log)))
	}
	return kept
}

// freePorts returns ports that nobody had a moment ago.
func freePorts(n int) (ports []int, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}

// pause is between two faults, so that each finds the fleet whole.
const pause = 3 * time.Second
