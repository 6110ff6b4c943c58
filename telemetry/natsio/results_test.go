package natsio

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry/natsio/natstest"
)

type found struct{ key, value string }

func sharing(t *testing.T, c *Conn) *Results {
	t.Helper()
	r := c.NewResults()
	t.Cleanup(r.Close)
	return r
}

func follow(t *testing.T, r *Results, device string) <-chan found {
	t.Helper()
	ch := make(chan found, 100)
	must(t, r.Follow(device, func(key string, value []byte) { ch <- found{key, string(value)} }))
	return ch
}

func share(t *testing.T, r *Results, device, key string, merge func([]byte) []byte) {
	t.Helper()
	must(t, r.Share(device, key, merge))
}

func always(value string) func([]byte) []byte { return func([]byte) []byte { return []byte(value) } }

func TestResultsReachWorkersWithTheSameDevice(t *testing.T) {
	s := newServer(t)
	a, b := sharing(t, dial(t, fastConfig(s.URL()))), sharing(t, dial(t, fastConfig(s.URL())))
	share(t, a, "d1", "before", always("1"))
	if got := receive(t, follow(t, b, "d1")); got != (found{"before", "1"}) {
		t.Errorf("what was there: %v", got)
	}
	news := follow(t, b, "d2")
	share(t, a, "d1", "other", always("2"))
	share(t, a, "d2", "after", always("3"))
	if got := receive(t, news); got != (found{"after", "3"}) {
		t.Errorf("what came later: %v", got)
	}
}

// Several workers write one key at once: each merges with what the others
// stored, and nothing is lost.
func TestConcurrentResultsAreMerged(t *testing.T) {
	s := newServer(t)
	const writers, each = 4, 10
	var wg sync.WaitGroup
	for w := range writers {
		r := sharing(t, dial(t, fastConfig(s.URL())))
		bucket := r.reach()
		if bucket == nil {
			t.Fatal("no bucket")
		}
		wg.Go(func() {
			for i := range each {
				add := func(old []byte) []byte { return fmt.Appendf(bytes.Clone(old), "<%d.%d>", w, i) }
				for r.write(bucket, "d.k", add) != nil { // too many others were faster
				}
			}
		})
	}
	wg.Wait()
	got := receive(t, follow(t, sharing(t, dial(t, fastConfig(s.URL()))), "d")).value
	for w := range writers {
		for i := range each {
			if item := fmt.Sprintf("<%d.%d>", w, i); strings.Count(got, item) != 1 {
				t.Errorf("%s stands %d times", item, strings.Count(got, item))
			}
		}
	}
}

func TestResultsThatAreTooLargeOrBadlyNamedAreRefused(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	r := sharing(t, c)
	for _, name := range []string{"", "a.b", "a*", ">", "A", strings.Repeat("a", 129)} {
		if err := r.Share(name, "k", always("")); !errors.Is(err, ErrBadName) {
			t.Errorf("device %q: %v", name, err)
		}
		if err := r.Share("d", name, always("")); !errors.Is(err, ErrBadName) {
			t.Errorf("key %q: %v", name, err)
		}
	}
	share(t, r, "d", "huge", always(strings.Repeat("x", MaxResultBytes+1)))
	share(t, r, "d", "small", always("x"))
	if got := receive(t, follow(t, r, "d")); got.key != "small" {
		t.Errorf("%s of %d bytes", got.key, len(got.value))
	}
}

func TestWithoutJetStreamResultsStayHereAndThatIsSaidOnce(t *testing.T) {
	p := natstest.Start(t)
	p.Kill()
	p.Args = slices.DeleteFunc(p.Args, func(arg string) bool { return arg == "-js" })
	p.Start()
	log, lines := newLog()
	conn := fastConfig(p.URL)
	conn.Logger = log
	r := sharing(t, dial(t, conn))
	must(t, r.Follow("d", func(string, []byte) { t.Error("found something") }))
	share(t, r, "d", "k", always("1"))
	lines.wait(t, "not shared")
	for range 20 { // attempts later there is still one line
		if r.reach() != nil {
			t.Fatal("a bucket without JetStream")
		}
	}
	for range len(lines.lines) { // that it is connected may be said late
		if line := <-lines.lines; strings.Contains(line, "not shared") {
			t.Errorf("said again: %q", line)
		}
	}
}

// Whoever follows hears of a bucket that was removed and made again.
func TestResultsOfABucketThatWasMadeAgainAreFound(t *testing.T) {
	s := newServer(t)
	c := dial(t, fastConfig(s.URL()))
	a, b := sharing(t, c), sharing(t, dial(t, fastConfig(s.URL())))
	b.look = 10 * time.Millisecond
	share(t, a, "d", "before", always("1"))
	news := follow(t, b, "d")
	receive(t, news)
	must(t, c.js.DeleteKeyValue(testContext(t), c.ResultBucket()))
	share(t, a, "d", "after", always("2"))
	if got := receive(t, news); got != (found{"after", "2"}) {
		t.Errorf("found %v", got)
	}
}

func TestAFullBucketIsSaidOnce(t *testing.T) {
	s := newServer(t)
	other := dial(t, fastConfig(s.URL()))
	full := jetstream.KeyValueConfig{Bucket: other.ResultBucket(), MaxBytes: 1}
	if _, err := other.js.CreateKeyValue(testContext(t), full); err != nil {
		t.Fatal(err)
	}
	log, lines := newLog()
	conn := fastConfig(s.URL())
	conn.Logger = log
	r := sharing(t, dial(t, conn))
	share(t, r, "d", "k", always("x"))
	if line := lines.wait(t, "level=WARN"); !strings.Contains(line, "maximum bytes exceeded") || !strings.Contains(line, other.ResultBucket()) {
		t.Error(line)
	}
	for range 3 { // attempts later there is still one warning
		for line := ""; !strings.Contains(line, "not shared yet"); {
			if line = receive(t, lines.lines); strings.Contains(line, "level=WARN") {
				t.Error("again:", line)
			}
		}
	}
}

func TestAServerThatIsAwayIsNotOneWithoutABucket(t *testing.T) {
	log, lines := newLog()
	cfg := fastConfig("nats://127.0.0.1:1")
	cfg.Logger = log
	c, err := Connect(cfg)
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		<-c.Closed()
	})
	if sharing(t, c).reach() != nil {
		t.Error("a bucket without a server")
	}
	for range len(lines.lines) {
		if line := <-lines.lines; strings.Contains(line, "not shared") {
			t.Error(line)
		}
	}
}
