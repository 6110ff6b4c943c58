package natsio

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

// serverWith starts a server with a configuration that keeps its streams in %q.
func serverWith(t *testing.T, text string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "nats.conf")
	must(t, os.WriteFile(conf, fmt.Appendf(nil, text, t.TempDir()), 0o600))
	server := natstest.Start(t)
	server.Kill()
	server.Args = append(server.Args[:4], "-c", conf)
	server.Start()
	return server.URL
}

// A server with less space than the stream wants takes work, and says that it is less.
func TestALittleSpaceMakesASmallerStream(t *testing.T) {
	url := serverWith(t, "jetstream { max_file_store: 500MB, store_dir: %q }")
	log, lines := newLog()
	cfg := fastConfig(url)
	cfg.Logger = log
	c := dial(t, cfg)
	for range 2 { // the second finds what the first made
		must(t, c.ensureWorkStream(testContext(t)))
	}
	if line := lines.wait(t, "made smaller"); !strings.Contains(line, "stream=RINGMASTER_WORK bytes=268435456 usual=1073741824") {
		t.Errorf("said: %s", line)
	}
	stream, err := c.js.Stream(testContext(t), c.WorkStream())
	must(t, err)
	if got := stream.CachedInfo().Config; got.MaxBytes != 256<<20 || got.MaxMsgsPerSubject != MaxQueueBatches/4 {
		t.Errorf("%d bytes, %d of a queue", got.MaxBytes, got.MaxMsgsPerSubject)
	}
	s := openShop(t, url, nil)
	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	report, err := Probe(testContext(t), fastConfig(url))
	must(t, err)
	if len(report.Missing) != 0 || !strings.Contains(report.SmallStream, "takes 268435456 bytes, usually 1073741824") {
		t.Errorf("report %+v", report)
	}
}

// A lone server without room for a second stream of the size says of one that is there that there is no room, before it says
// that it cannot have three replicas. Nobody asked for three.
func TestAFullLoneServerIsNotAskedForReplicasInVain(t *testing.T) {
	log, lines := newLog()
	cfg := fastConfig(serverWith(t, "jetstream { max_file_store: 1500MB, store_dir: %q }"))
	cfg.Logger = log
	c := dial(t, cfg)
	for range 2 { // the second finds what the first made
		must(t, c.ensureWorkStream(testContext(t)))
	}
	for len(lines.lines) > 0 {
		if line := <-lines.lines; strings.Contains(line, "level=WARN") {
			t.Errorf("said: %s", line)
		}
	}
}

func TestTooLittleSpaceIsSaid(t *testing.T) {
	for _, limit := range []struct{ text, user string }{
		{"jetstream { max_file_store: 1000000, store_dir: %q }", ""},
		{"jetstream { store_dir: %q }\naccounts { A { jetstream { max_file: 1000000 }, users: [{user: a, password: a}] } }", "a:a@"},
	} {
		url := strings.Replace(serverWith(t, limit.text), "//", "//"+limit.user, 1)
		c := dial(t, fastConfig(url))
		err := c.ensureWorkStream(testContext(t))
		if !errors.Is(err, ErrNoSpace) || !strings.Contains(err.Error(), "RINGMASTER_WORK takes 1073741824 bytes, at least 16777216") {
			t.Errorf("error %v", err)
		}
		report, err := Probe(testContext(t), fastConfig(url))
		must(t, err)
		if limit.user != "" && !strings.Contains(strings.Join(report.Missing, ""), "1000000 bytes left") { // nobody but the server knows its own
			t.Errorf("report %+v", report)
		}
	}
}

// An account with limits by replicas has none besides: those of the replicas that streams are made with count.
func TestLimitsByReplicasAreThoseOfTheStreams(t *testing.T) {
	of := func(bytes int64) jetstream.Tier {
		return jetstream.Tier{Limits: jetstream.AccountLimits{MaxStore: bytes}}
	}
	both := map[string]jetstream.Tier{"R1": of(1), "R3": of(3)}
	for replicas, want := range map[int]int64{0: 3, 1: 1, 3: 3} {
		if got := tierOf(both, replicas).Limits.MaxStore; got != want {
			t.Errorf("%d replicas: %d bytes, want %d", replicas, got, want)
		}
	}
	if got := tierOf(map[string]jetstream.Tier{"R1": of(1)}, 0).Limits.MaxStore; got != 1 {
		t.Errorf("without a limit for three: %d bytes", got)
	}
}
