package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

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

// stores is what all streams and consumers of a server hold, and how they are configured.
func stores(t *testing.T, js jetstream.JetStream) (all []string) {
	t.Helper()
	list := js.ListStreams(t.Context())
	for info := range list.Info() {
		all = append(all, fmt.Sprintf("%+v %+v", info.Config, info.State))
		stream, err := js.Stream(t.Context(), info.Config.Name)
		if err != nil {
			t.Fatal(err)
		}
		consumers := stream.ListConsumers(t.Context())
		for c := range consumers.Info() {
			all = append(all, fmt.Sprintf("%+v %+v %+v %d %d", c.Config, c.Delivered, c.AckFloor, c.NumAckPending, c.NumPending))
		}
	}
	slices.Sort(all)
	return all
}

// On a server that lets everybody do everything, a check finds that and leaves every stream as it was.
func TestAuthCheckDoesNothingWhereEverythingIsAllowed(t *testing.T) {
	url := serverOf(t)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	for _, holds := range []string{"work", "done", "poison", "decided", "decisions"} {
		subjects := []string{"ringmaster.v1." + holds, "ringmaster.v1." + holds + ".>"}
		_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "RINGMASTER_" + strings.ToUpper(holds), Subjects: subjects, AllowDirect: true})
		if err == nil {
			_, err = js.Publish(ctx, "ringmaster.v1."+holds+".w9.q", []byte("kept"))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	bucket, err := js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "RINGMASTER_TUNER"})
	if err == nil {
		_, err = bucket.Put(ctx, "device.key", []byte("kept"))
	}
	if err == nil {
		bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: "RINGMASTER_CONFIG"})
	}
	if err == nil {
		_, err = bucket.Put(ctx, "fleet", []byte("kept"))
	}
	var files jetstream.ObjectStore
	if err == nil {
		files, err = js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: "RINGMASTER_GRAPHS"})
	}
	if err == nil {
		_, err = files.PutString(ctx, "file", "kept")
	}
	var consumer jetstream.Consumer
	if err == nil {
		consumer, err = js.CreateConsumer(ctx, "RINGMASTER_WORK", jetstream.ConsumerConfig{Durable: "w9=q", FilterSubject: "ringmaster.v1.work.w9.q", AckWait: time.Hour})
	}
	if err == nil {
		_, err = consumer.Next() // in somebody's hands, without an acknowledgement
	}
	if err != nil {
		t.Fatal(err)
	}
	before := stores(t, js)
	for _, kind := range access.Kinds() {
		got := ringmaster(t, ctx, "", "auth", "check", "--account", kind.String(), "--worker", "w9", "--queue", "q", "--nats", url, "--json")
		if got.code != 1 || strings.Count(got.stdout, `"wanted":false,"allowed":true`) < 24 || strings.Contains(got.stdout, `"allowed":false`) {
			t.Errorf("%v: exit code %d, %s%s", kind, got.code, got.err, got.stdout)
		}
	}
	if after := stores(t, js); !slices.Equal(before, after) {
		t.Errorf("before:\n%s\nafter:\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
}

// A template does not make up a password: without one for each user the server does not start.
func TestAServerDoesNotStartWithoutThePasswordsOfATemplate(t *testing.T) {
	users := ringmaster(t, t.Context(), "", "auth", "template", "--worker", "w1")
	conf := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(conf, []byte(users.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := server.ProcessConfigFile(conf); err == nil || !strings.Contains(err.Error(), "RINGMASTER_") {
		t.Errorf("%v", err)
	}
	for _, name := range regexp.MustCompile(`RINGMASTER_[A-Z0-9_]+,`).FindAllString(users.stdout, -1) {
		t.Setenv(strings.TrimSuffix(name, ","), "secret")
	}
	if options, err := server.ProcessConfigFile(conf); err != nil || len(options.Users) != 6 {
		t.Errorf("%v", err)
	}
}

func TestAuthTemplateRefusesWhatCannotBeMeant(t *testing.T) {
	dir := t.TempDir()
	for args, want := range map[string]string{
		"--worker a.b":                            `"a.b"`,
		"--worker w --prefix a..b":                "prefix",
		"--worker w --form nsc --nkeys " + dir:    "--nkeys",
		"--worker w --form nsc --account a'b":     "--account",
		"--worker gpu-0 --worker gpu_0":           "RINGMASTER_WORKER_GPU_0",
		"--worker w --queue q --queue q":          "RINGMASTER_PUBLISHER_W_Q",
		"--worker w --nkeys " + dir + "/file/sub": "not a directory",
	} {
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := ringmaster(t, t.Context(), "", append([]string{"auth", "template"}, strings.Fields(args)...)...); got.code != 1 || !strings.Contains(got.err, want) || got.stdout != "" {
			t.Errorf("%s: exit code %d, %q", args, got.code, got.err)
		}
	}
	for range 2 { // seeds are not replaced
		again := ringmaster(t, t.Context(), "", "auth", "template", "--worker", "w", "--nkeys", dir)
		if refused := strings.Contains(again.err, "name an empty directory"); refused != (again.code == 1) {
			t.Errorf("exit code %d, %s", again.code, again.err)
		}
	}
}
