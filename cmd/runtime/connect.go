package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// natsFlags say how to reach NATS.
type natsFlags struct {
	URL     string `name:"nats" env:"NATS_URL" placeholder:"URL" help:"NATS server, such as nats://host:4222."`
	Creds   string `env:"NATS_CREDS" placeholder:"FILE" help:"NATS credentials file."`
	NKey    string `name:"nkey" env:"NATS_NKEY" placeholder:"FILE" help:"File with the seed of an NKey."`
	Context string `env:"NATS_CONTEXT" placeholder:"NAME" help:"Context of the nats command."`
	Inbox   string `name:"inbox-prefix" env:"NATS_INBOX_PREFIX" placeholder:"PREFIX" help:"What subjects of answers begin with, for users that may not subscribe all of _INBOX.>."`
	Prefix  string `env:"RINGMASTER_PREFIX" default:"ringmaster.v1" help:"Prefix of every subject."`
}

func (f *natsFlags) given() bool {
	return f.URL != "" || f.Creds != "" || f.NKey != "" || f.Context != ""
}

func (f *natsFlags) config(name string, log *slog.Logger) natsio.Config {
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Creds, cfg.NKey, cfg.Context, cfg.Inbox, cfg.Name = f.URL, f.Creds, f.NKey, f.Context, f.Inbox, name
	cfg.Subjects = telemetry.Subjects{Prefix: f.Prefix}
	cfg.Logger = log
	return cfg
}

// defaultServer is where the client commands look when no server is named: the
// one that `ringmaster run` embeds.
const defaultServer = "nats://127.0.0.1:4222"

// dial connects a client command. If no server answers within dialPatience, that is
// an error: whoever typed the command wants to know.
func (f *natsFlags) dial(ctx context.Context, name string, log *slog.Logger) (*natsio.Conn, error) {
	cfg := f.config(name, log)
	if !f.given() {
		cfg.URL = defaultServer
	}
	conn, err := natsio.Connect(cfg)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	ctx, cancel := conn.Permitted(ctx) // waiting will not change that
	defer cancel()
	patient, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	if conn.WaitState(patient, natsio.StateConnected) == nil {
		return conn, nil
	}
	conn.Close()
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return nil, cause
	case f.given():
		return nil, fmt.Errorf("no NATS server answers within %v; `ringmaster doctor` with the same flags says why", time.Since(begin).Round(time.Second))
	}
	return nil, fmt.Errorf("no NATS server answers at %s; start `ringmaster run`, or name a server with --nats or --context", defaultServer)
}

// with dials and does something on the connection. If the server refuses the user's login meanwhile, or a
// subject that is not dispensable, the context ends and that is the error.
func (f *natsFlags) with(ctx context.Context, name string, log *slog.Logger, do func(context.Context, *natsio.Conn) error, dispensable ...string) error {
	conn, err := f.dial(ctx, name, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := conn.Permitted(ctx, dispensable...)
	defer cancel()
	err = do(ctx, conn)
	if cause := context.Cause(ctx); errors.Is(cause, natsio.ErrLogin) || errors.Is(cause, natsio.ErrNotPermitted) {
		return cause
	}
	return err
}

// queueFlags name a queue of a running worker.
type queueFlags struct {
	natsFlags
	Worker  string        `default:"${hostname}" help:"Worker that has the queue."`
	Queue   string        `required:"" placeholder:"NAME" help:"Queue of that worker."`
	Timeout time.Duration `default:"${timeout}" help:"Longest wait for all of it."`
}

// Validate is called by the command line's parser.
func (f *queueFlags) Validate() error { return validNames(f.Worker, f.Queue) }

// with is that of natsFlags, bounded by the timeout and ended by a signal.
func (f *queueFlags) with(ctx context.Context, name string, log *slog.Logger, do func(context.Context, *natsio.Conn) error, dispensable ...string) error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: want more than 0", f.Timeout)
	}
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	return f.natsFlags.with(ctx, name, log, do, dispensable...)
}

// validNames refuses what cannot be the name of a worker or a queue, and names the flag.
func validNames(worker, queue string) error {
	for _, name := range []struct{ flag, value string }{{"--worker", worker}, {"--queue", queue}} {
		if !telemetry.ValidToken(name.value) {
			return fmt.Errorf("%s %q: use 1 to 64 letters, digits, _ or -", name.flag, name.value)
		}
	}
	return nil
}

// dialPatience is how long a client command waits for its server.
const dialPatience = 5 * time.Second

// roomForGL lets one more goroutine run at a time than there are processors.
// The GL thread waits for the device inside a C call, and the Go scheduler goes
// on counting it as running for a while: on two processors that doubles the
// time from a record to its recommendation. A GOMAXPROCS of the user's own is left alone.
var roomForGL = sync.OnceFunc(func() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + 1)
	}
})

// cacheDir is where the command keeps what it may lose, under XDG rules.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "ringmaster")
}

// stateDir is where the command keeps what has to outlive it, under XDG rules.
func stateDir() string {
	if base := os.Getenv("XDG_STATE_HOME"); base != "" {
		return filepath.Join(base, "ringmaster")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "ringmaster")
}

// splitListen reads HOST:PORT.
func splitListen(address string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %q: want HOST:PORT", address)
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 0 || port > 65_535 {
		return "", 0, fmt.Errorf("--listen %q: want a port of 0 to 65535", address)
	}
	return host, port, nil
}

// workerName turns the host's name into a token that subjects allow.
func workerName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "worker"
	}
	host = text.Token(host)
	return host[:min(len(host), 64)]
}
