package option

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/trace"
)

// NATS say how to reach NATS.
type NATS struct {
	URL     string `group:"NATS:" name:"nats" aliases:"server" env:"NATS_URL" placeholder:"URL" help:"NATS server, such as nats://host:4222."`
	Creds   string `group:"NATS:" env:"NATS_CREDS" placeholder:"FILE" help:"NATS credentials file."`
	NKey    string `group:"NATS:" name:"nkey" env:"NATS_NKEY" placeholder:"FILE" help:"File with the seed of an NKey."`
	Context string `group:"NATS:" env:"NATS_CONTEXT" placeholder:"NAME" help:"Context of the nats command."`
	Inbox   string `group:"NATS:" name:"inbox-prefix" env:"NATS_INBOX_PREFIX" placeholder:"PREFIX" help:"What subjects of answers begin with, for users that may not subscribe all of _INBOX.>."`
	Prefix  string `group:"NATS:" env:"RINGMASTER_PREFIX" default:"ringmaster.v1" help:"Prefix of every subject."`
}

func (f *NATS) Given() bool {
	return f.URL != "" || f.Creds != "" || f.NKey != "" || f.Context != ""
}

func (f *NATS) Config(name string, log *slog.Logger) natsio.Config {
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Creds, cfg.NKey, cfg.Context, cfg.Inbox, cfg.Name = f.URL, f.Creds, f.NKey, f.Context, f.Inbox, name
	cfg.Subjects = telemetry.Subjects{Prefix: f.Prefix}
	cfg.Logger = log
	if sender, ok := trace.Parse(os.Getenv("TRACEPARENT")); ok { // as programs tell those they start
		cfg.Traceparent = sender.String()
	}
	return cfg
}

// DefaultServer is where the client commands look when no server is named: the
// one that `ringmaster run` embeds.
const DefaultServer = "nats://127.0.0.1:4222"

// Dial connects a client command. If no server answers within DialPatience, that is
// an error: whoever typed the command wants to know.
func (f *NATS) Dial(ctx context.Context, name string, log *slog.Logger) (*natsio.Conn, error) {
	cfg := f.Config(name, log)
	if !f.Given() {
		cfg.URL = DefaultServer
	}
	conn, err := natsio.Connect(cfg)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	ctx, cancel := conn.Permitted(ctx) // waiting will not change that
	defer cancel()
	patient, cancel := context.WithTimeout(ctx, DialPatience)
	defer cancel()
	if conn.WaitState(patient, natsio.StateConnected) == nil {
		return conn, nil
	}
	conn.Close()
	switch cause := context.Cause(ctx); {
	case cause != nil:
		return nil, cause
	case f.Given():
		return nil, fmt.Errorf("no NATS server answers within %v; `ringmaster doctor` with the same flags says why", time.Since(begin).Round(time.Second))
	}
	return nil, fmt.Errorf("no NATS server answers at %s; start `ringmaster run`, or name a server with --nats or --context", DefaultServer)
}

// With dials and does something on the connection. If the server refuses the user's login meanwhile, or a
// subject that is not dispensable, the context ends and that is the error.
func (f *NATS) With(ctx context.Context, name string, log *slog.Logger, do func(context.Context, *natsio.Conn) error, dispensable ...string) error {
	conn, err := f.Dial(ctx, name, log)
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := conn.Permitted(ctx, dispensable...)
	defer cancel()
	err = do(ctx, conn)
	if refused := Refused(ctx); refused != nil {
		return refused
	}
	return err
}

// Refused is what the server refused the user, if that has ended a context of Conn.Permitted.
func Refused(ctx context.Context) error {
	if cause := context.Cause(ctx); errors.Is(cause, natsio.ErrLogin) || errors.Is(cause, natsio.ErrNotPermitted) {
		return cause
	}
	return nil
}

// Target name a queue of a running worker.
type Target struct {
	NATS    `group:"NATS:"`
	Worker  string        `default:"${hostname}" help:"Worker that has the queue. Work may go to pool.NAME too: any worker of that pool runs it."`
	Queue   string        `required:"" placeholder:"NAME" help:"Queue of that worker."`
	Timeout time.Duration `default:"${timeout}" help:"Longest wait for all of it."`
}

// Validate is called by the command line's parser.
func (f *Target) Validate() error {
	if telemetry.ValidTaker(f.Worker) { // what only a worker can do is refused of a pool when it is asked
		return validName("--queue", f.Queue)
	}
	return ValidNames(f.Worker, f.Queue)
}

// With is that of NATS, bounded by the timeout and ended by a signal.
func (f *Target) With(ctx context.Context, name string, log *slog.Logger, do func(context.Context, *natsio.Conn) error, dispensable ...string) error {
	if f.Timeout <= 0 {
		return fmt.Errorf("--timeout %v: want more than 0", f.Timeout)
	}
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, f.Timeout)
	defer cancel()
	return f.NATS.With(ctx, name, log, do, dispensable...)
}

// ValidNames refuses what cannot be the name of a worker or a queue, and names the flag.
func ValidNames(worker, queue string) error {
	if err := validName("--worker", worker); err != nil {
		return err
	}
	return validName("--queue", queue)
}

func validName(flag, name string) error {
	if !telemetry.ValidToken(name) {
		return fmt.Errorf("%s %q: use 1 to 64 letters, digits, _ or -", flag, name)
	}
	return nil
}

// DialPatience is how long a client command waits for its server.
const DialPatience = 5 * time.Second
