package tuned

import (
	"bytes"
	"context"
	"time"

	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
)

const aDevice = "Acme; Simulator 1; 1.0"

func learned(key byte, widths ...uint32) cache.Entry {
	e := cache.Entry{Key: cache.Key{key}, Selected: policy.Geometry{Width: widths[0]}}
	for i, w := range widths {
		e.Measurements = append(e.Measurements, cache.Measurement{Geometry: policy.Geometry{Width: w}, Count: 5, Mean: float64(10 + i)})
	}
	return e
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func TestOwnResultsComeFirstAndThoseOfOthersAfterThem(t *testing.T) {
	m := New(Config{Log: quiet()})
	m.Open(aDevice)
	if _, _, ok := m.Recall(aDevice, cache.Key{1}, 0); ok {
		t.Error("an empty memory knows something")
	}
	m.learn(aDevice, learned(1, 64))
	if e, _, ok := m.Recall(aDevice, cache.Key{1}, 0); !ok || e.Selected.Width != 64 {
		t.Errorf("with nothing else: %+v, %v", e, ok)
	}
	m.Remember(aDevice, learned(1, 128))
	m.learn(aDevice, learned(1, 64))
	e, moment, ok := m.Recall(aDevice, cache.Key{1}, 0)
	if !ok || e.Selected.Width != 128 {
		t.Errorf("own first: %+v, %v", e, ok)
	}
	if e, moment, ok = m.Recall(aDevice, cache.Key{1}, moment); !ok || e.Selected.Width != 64 {
		t.Errorf("then others: %+v, %v", e, ok)
	}
	if _, _, ok := m.Recall(aDevice, cache.Key{1}, moment); ok {
		t.Error("the same once more")
	}
	if _, _, ok := m.Recall("another device", cache.Key{1}, 0); ok {
		t.Error("of another device")
	}
}

// Whoever may report launches of a worker of his own can say that it has the same device.
func TestWhatAWorkerElsewhereReportsIsAHintHere(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		m := New(Config{Dir: dir, Log: quiet()})
		m.Open(aDevice)
		evil := m.Elsewhere("evil")
		m.Remember(aDevice, learned(1, 64))
		evil.Remember(aDevice, learned(1, 1024))
		evil.Remember(aDevice, learned(2, 1024))
		for at, want := range map[session.Memory]uint32{m: 64, evil: 1024} {
			if e, moment, ok := at.Recall(aDevice, cache.Key{1}, 0); !ok || moment != session.FirstMoment || e.Selected.Width != want {
				t.Errorf("%T: %+v at %d, %v; want its own", at, e, moment, ok)
			}
		}
		if e, moment, ok := m.Recall(aDevice, cache.Key{2}, 0); !ok || moment == session.FirstMoment || e.Selected.Width != 1024 {
			t.Errorf("what only the other knows: %+v at %d, %v; want a hint", e, moment, ok)
		}
		m.Close(t.Context())
		if dir == "" {
			continue
		}
		again := New(Config{Dir: dir, Log: quiet()})
		again.Open(aDevice)
		<-again.places[place{kind: aDevice}].file.Loaded()
		if e, _, ok := again.Recall(aDevice, cache.Key{1}, 0); !ok || e.Selected.Width != 64 {
			t.Errorf("in the file: %+v, %v", e, ok)
		}
		if e, _, ok := again.Recall(aDevice, cache.Key{2}, 0); ok {
			t.Errorf("in the file: %+v", e)
		}
		again.Close(t.Context())
	}
}

// follows is a bucket that counts who is followed.
type follows struct {
	kinds []string
	found func(key string, value []byte)
}

func (f *follows) Follow(kind string, found func(string, []byte)) error {
	f.kinds, f.found = append(f.kinds, kind), found
	return nil
}

func (f *follows) Share(string, string, func([]byte) []byte) error { return nil }

// hand hands over what somebody shared.
func (f *follows) hand(e cache.Entry) { f.found(e.Key.String(), e.Shared(aDevice)) }

func TestAKindOfDeviceIsFollowedOnceForAllWorkersThatHaveIt(t *testing.T) {
	bus := &follows{}
	m := New(Config{Log: quiet()})
	m.Share(bus)
	m.Open(aDevice)
	bus.hand(learned(1, 64))
	for i := range 200 {
		late := m.Elsewhere(fmt.Sprint("w", i))
		if e, moment, ok := late.Recall(aDevice, cache.Key{1}, 0); !ok || moment == session.FirstMoment || e.Selected.Width != 64 {
			t.Fatalf("worker %d: %+v at %d, %v; want what was shared before, as a hint", i, e, moment, ok)
		}
	}
	bus.hand(learned(2, 128))
	if e, _, ok := m.Elsewhere("w199").Recall(aDevice, cache.Key{2}, 0); !ok || e.Selected.Width != 128 {
		t.Errorf("what is shared later: %+v, %v", e, ok)
	}
	if len(bus.kinds) != 1 {
		t.Errorf("%d followers", len(bus.kinds))
	}
}

func TestResultsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	m := New(Config{Dir: dir, Log: quiet()})
	m.Remember(aDevice, learned(1, 64, 128))
	m.Close(t.Context())
	again := New(Config{Dir: dir, Log: quiet()})
	again.Open(aDevice)
	<-again.places[place{kind: aDevice}].file.Loaded()
	if e, _, ok := again.Recall(aDevice, cache.Key{1}, 0); !ok || e.Selected.Width != 64 || len(e.Measurements) != 2 {
		t.Errorf("%+v, %v", e, ok)
	}
	again.Close(t.Context())
}

// A directory that is a file can neither be read nor written, whoever asks.
func TestTuningGoesOnWhereNothingCanBeWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	m := New(Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&said, nil))})
	m.Remember(aDevice, learned(1, 64))
	<-m.places[place{kind: aDevice}].file.Loaded()
	if e, _, ok := m.Recall(aDevice, cache.Key{1}, 0); !ok || e.Selected.Width != 64 {
		t.Errorf("%+v, %v", e, ok)
	}
	if m.Close(t.Context()); !strings.Contains(said.String(), "not written") || !strings.Contains(said.String(), "lost") {
		t.Errorf("said %q", said.String())
	}
}

func TestKindsOfDevicesAreBounded(t *testing.T) {
	var said bytes.Buffer
	m := New(Config{Log: slog.New(slog.NewTextHandler(&said, nil))})
	for i := range 10 * maxPlaces {
		m.Remember(fmt.Sprint("device ", i), learned(1, 64))
	}
	if len(m.places) != maxPlaces || strings.Count(said.String(), "not remembered") != 1 {
		t.Errorf("%d devices, said %q", len(m.places), said.String())
	}
}

// fleet is a bus with JetStream and workers that share on it.
type fleet struct {
	t      *testing.T
	server *embedded.Server
}

func newFleet(t *testing.T) *fleet {
	t.Helper()
	cfg := embedded.DefaultConfig()
	cfg.Port, cfg.StoreDir = -1, t.TempDir()
	server, err := embedded.Start(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Shutdown)
	return &fleet{t, server}
}

func (f *fleet) member(log *slog.Logger) (*Memory, *natsio.Results) {
	f.t.Helper()
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Name, cfg.Logger = f.server.URL(), "a worker", log
	conn, err := natsio.Connect(cfg)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(conn.Close)
	results := conn.NewResults()
	f.t.Cleanup(results.Close)
	m := New(Config{Log: log})
	m.Share(results)
	m.Open(aDevice)
	return m, results
}

// recalled waits for what others shared.
func recalled(t *testing.T, m *Memory, key cache.Key) (e cache.Entry) {
	t.Helper()
	err := waitUntil(t.Context(), func() (ok bool) { e, _, ok = m.Recall(aDevice, key, 0); return ok })
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// What another worker with the same device found is not run unseen, and is looked at first.
func TestSecondRuntimeWithTheSameDeviceLooksAtWhatTheFirstFound(t *testing.T) {
	f := newFleet(t)
	first, _ := f.member(quiet())
	second, _ := f.member(quiet())
	cfg := policy.Standard()
	limits := policy.Limits{MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024, SubgroupSize: 32}
	env := session.Env{Mode: session.On, Spaces: session.NewSpaces(&cfg), Limits: limits, Device: aDevice, Memory: first}
	program := session.Program{ID: [32]byte{1}, Mode: session.On}
	key := session.Key(program, session.BucketOf(4000), limits, aDevice)
	cost := func(g policy.Geometry) uint64 {
		return 100_000 * (10_000 + 1000*uint64(g.Groups) + 4_000_000/uint64(min(g.Width*g.Groups, 1024)))
	}
	launch := func(s *session.Session, last *uint64) (asked policy.Geometry, look uint64) {
		t.Helper()
		asked, look = s.View().For(4000, *last)
		rec, _, err := policy.Decide(&cfg, &policy.Request{QueueLen: 4000, Limits: limits, Tuned: asked}, policy.State{})
		if err != nil {
			t.Fatal(err)
		}
		*last = max(*last, look)
		g := rec.Geometry()
		ns := cost(g)
		if _, err := s.Observe(&env, &session.Report{
			Program: program.ID, Named: true, Geometry: g, Slots: 4000, Ns: ns, WallNs: ns, SinceNs: ns,
			Plan: session.Plan{Asked: asked, Given: g, Slots: 4000, Look: look},
		}); err != nil {
			t.Fatal(err)
		}
		return asked, look
	}
	var found cache.Entry
	var a, b session.Session
	var ofA, ofB uint64
	for n := 0; found.Selected == (policy.Geometry{}); n++ {
		if n == 20_000 {
			t.Fatal("nothing is selected")
		}
		launch(&a, &ofA)
		found, _, _ = first.Recall(aDevice, key, 0)
	}
	err := waitUntil(t.Context(), func() bool { e, _, _ := second.Recall(aDevice, key, 0); return e.Selected != (policy.Geometry{}) })
	if err != nil {
		t.Fatal(err)
	}
	env.Memory = second
	launch(&b, &ofB)
	if kept, _ := b.View().For(4000, session.NoLook); kept != (policy.Geometry{}) {
		t.Errorf("the second begins with %+v, which never ran there", kept)
	}
	for n := 0; ; n++ {
		if n == 20_000 {
			t.Fatal("nothing is looked at")
		}
		if asked, look := launch(&b, &ofB); look != 0 {
			if over := float64(cost(asked)) / float64(cost(found.Selected)); over > 1.1 {
				t.Errorf("the first look is at %+v, which takes %.2f times what %+v does", asked, over, found.Selected)
			}
			return
		}
	}
}

func TestResultsOfTwoWorkersAreMergedInTheBucket(t *testing.T) {
	f := newFleet(t)
	first, _ := f.member(quiet())
	second, _ := f.member(quiet())
	first.Remember(aDevice, learned(1, 64, 128))
	_ = recalled(t, second, cache.Key{1})
	second.Remember(aDevice, learned(1, 256))
	third, _ := f.member(quiet())
	err := waitUntil(t.Context(), func() bool {
		e, _, _ := third.Recall(aDevice, cache.Key{1}, 0)
		return len(e.Measurements) == 3 && e.Selected.Width == 256
	})
	if err != nil {
		e, _, _ := third.Recall(aDevice, cache.Key{1}, 0)
		t.Errorf("%v: %+v", err, e)
	}
}

func TestHostileBytesInTheBucketAreLeftOut(t *testing.T) {
	f := newFleet(t)
	log := &texttest.Log{}
	m, _ := f.member(slog.New(slog.NewTextHandler(log, nil)))
	other, results := f.member(quiet())
	good := learned(9, 64)
	wrong := learned(8, 64) // shared under another key
	poisoned := learned(3, 64)
	poisoned.Measurements[0].Mean = -1
	for name, value := range map[string][]byte{
		"not-a-key":               []byte("x"),
		cache.Key{1}.String():     []byte("\x00\xff garbage"),
		cache.Key{2}.String():     wrong.Shared(aDevice),
		cache.Key{3}.String():     poisoned.Shared(aDevice),
		cache.Key{4}.String():     good.Shared("another device"),
		cache.Key{5}.String():     []byte("schema = 99\ndevice = \"" + aDevice + "\"\n"),
		cache.Key{7, 7}.String():  bytes.Repeat([]byte("[[entry]]\n"), 3000),
		cache.Key{10, 1}.String(): bytes.Repeat([]byte("a"), natsio.MaxResultBytes),
	} {
		if err := results.Share(deviceToken(aDevice), name, func([]byte) []byte { return value }); err != nil {
			t.Fatal(err)
		}
	}
	other.Remember(aDevice, good)
	if e := recalled(t, m, good.Key); e.Selected.Width != 64 {
		t.Errorf("the good one: %+v", e)
	}
	for i := range byte(8) {
		if e, _, ok := m.Recall(aDevice, cache.Key{i}, 0); ok {
			t.Errorf("key %d: %+v", i, e)
		}
	}
	if n := strings.Count(log.String(), "left out"); n != 1 {
		t.Errorf("%d warnings:\n%s", n, log.String())
	}
}

func TestResultOfANewerVersionIsNotOverwritten(t *testing.T) {
	f := newFleet(t)
	m, results := f.member(quiet())
	newer := []byte("schema = 99\ndevice = \"" + aDevice + "\"\n")
	key := cache.Key{1}
	token := deviceToken(aDevice)
	first := make(chan string, 10)
	if err := results.Share(token, key.String(), func([]byte) []byte { return newer }); err != nil {
		t.Fatal(err)
	}
	if err := results.Follow(token, func(_ string, value []byte) { first <- string(value) }); err != nil {
		t.Fatal(err)
	}
	if got := <-first; got != string(newer) {
		t.Fatalf("stored %q", got)
	}
	m.Remember(aDevice, learned(1, 64))
	m.Remember(aDevice, learned(2, 64)) // stored after it
	if got := <-first; !strings.Contains(got, cache.Key{2}.String()) {
		t.Errorf("then %q", got)
	}
}

// waitUntil returns when something is so, or with an error after ten seconds.
func waitUntil(ctx context.Context, ok func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for !ok() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}
