package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"ringmaster/telemetry/access"
)

// guarded is a NATS server that lets users in with rights.
type guarded struct {
	url  string
	keys string // directory of the users' seeds
	log  *violations
}

// violations keeps the lines in which a server says that a user did what it may not.
type violations struct {
	mu    sync.Mutex
	lines []string
}

func (v *violations) Noticef(string, ...any)            {}
func (v *violations) Warnf(string, ...any)              {}
func (v *violations) Fatalf(format string, args ...any) { v.Errorf(format, args...) }
func (v *violations) Debugf(string, ...any)             {}
func (v *violations) Tracef(string, ...any)             {}
func (v *violations) Errorf(format string, args ...any) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.lines = append(v.lines, fmt.Sprintf(format, args...))
}

func (v *violations) seen() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string{}, v.lines...)
}

// guard starts a server with the users that `auth template` prints, changed by edit.
func guard(t *testing.T, edit func(conf string) string, args ...string) *guarded {
	t.Helper()
	g := &guarded{keys: filepath.Join(t.TempDir(), "keys"), log: new(violations)}
	users := ringmaster(t, t.Context(), "", append([]string{"auth", "template", "--worker", "w1", "--nkeys", g.keys}, args...)...)
	if users.code != 0 {
		t.Fatalf("auth template: exit code %d, %s", users.code, users.err)
	}
	g.start(t, edit(users.stdout))
	return g
}

func asPrinted(conf string) string { return conf }

func (g *guarded) start(t *testing.T, users string) {
	t.Helper()
	s := startConf(t, g.log, fmt.Sprintf("jetstream { store_dir: %q, max_file_store: 4G, domain: hub }\n%s", t.TempDir(), users))
	g.url = s.ClientURL()
}

// startConf starts a server with a configuration.
func startConf(t *testing.T, log *violations, text string) *server.Server {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(conf, []byte("listen: \"127.0.0.1:-1\"\n"+text), 0o600); err != nil {
		t.Fatal(err)
	}
	options, err := server.ProcessConfigFile(conf)
	if err != nil {
		t.Fatal(err)
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.SetLoggerV2(log, false, false, false)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(time.Minute) {
		t.Fatalf("the server is not ready: %v", log.seen())
	}
	return s
}

// as are the flags by which a command is a user.
func (g *guarded) as(user string) []string {
	return []string{"--nats", g.url, "--nkey", filepath.Join(g.keys, user+".nk")}
}

// do runs a command as a user.
func (g *guarded) do(t *testing.T, user, stdin string, args ...string) outcome {
	t.Helper()
	return ringmaster(t, t.Context(), stdin, append(args, g.as(user)...)...)
}

// serve starts `ringmaster run` as a user.
func (g *guarded) serve(t *testing.T, user string, args ...string) served {
	t.Helper()
	return serveWith(t, append(append([]string{"--worker", "w1"}, args...), g.as(user)...)...)
}

// Each user of the template is allowed what its kind needs, and nothing else.
func TestAuthCheckFindsTheTemplateAsItShouldBe(t *testing.T) {
	for name, args := range map[string][]string{"shared inboxes": nil, "private inboxes": {"--private-inboxes"}} {
		t.Run(name, func(t *testing.T) {
			g := guard(t, asPrinted, append(args, "--queue", "q")...)
			for _, kind := range access.Kinds() {
				user := kind.String()
				switch kind {
				case access.Worker:
					user += "-w1"
				case access.Publisher, access.Submitter, access.Subscriber:
					user += "-w1-q"
				}
				check := []string{"auth", "check", "--account", kind.String(), "--worker", "w1", "--queue", "q"}
				if args != nil {
					check = append(check, "--inbox-prefix", "_INBOX."+user)
				}
				begin := time.Now()
				got := g.do(t, user, "", check...)
				if took := time.Since(begin); got.code != 0 || strings.Contains(got.stdout, "BAD") || took > 5*time.Second {
					t.Errorf("%v: exit code %d after %v, %s%s", kind, got.code, took, got.err, bad(got.stdout))
				}
			}
		})
	}
}

// bad are the lines of a check that are not as they should be.
func bad(table string) (lines string) {
	for line := range strings.Lines(table) {
		if strings.HasPrefix(line, "BAD") {
			lines += line
		}
	}
	return lines
}
