package ownership

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

var must = natstest.Must

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// long bounds every wait of the tests. It is no part of what they prove.
const long = 30 * time.Second

// join makes a process of its own, which has not begun.
func join(t *testing.T, url, worker string, role Role) *Membership {
	t.Helper()
	m, err := Join(bustest.Dial(t, url), Config{Worker: worker, Role: role, Process: "test", Log: slog.New(slog.DiscardHandler)})
	must(t, err)
	t.Cleanup(m.Close)
	return m
}

func begin(t *testing.T, url, worker string, role Role) *Membership {
	t.Helper()
	m := join(t, url, worker, role)
	m.Begin()
	return m
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	for !is() {
		if ctx.Err() != nil {
			t.Fatalf("not within %v: %s", long, what)
		}
		runtime.Gosched()
	}
}

// owners is how many of the processes take themselves for the owner of a worker.
func owners(worker string, all ...*Membership) (n int) {
	for _, m := range all {
		if m.Owns(worker) {
			n++
		}
	}
	return n
}

// acquainted waits until each of the processes knows that all of them decide.
func acquainted(t *testing.T, all ...*Membership) {
	t.Helper()
	eventually(t, "all know each other", func() bool {
		known := 0
		for _, m := range all {
			for _, c := range m.Claims() {
				if c.Deciding {
					known++
				}
			}
		}
		return known == len(all)*len(all)
	})
}

func TestProcessesAgreeOnOwners(t *testing.T) {
	url := bustest.Server(t).URL()
	a, b, c := begin(t, url, AnyWorker, RoleDecides), begin(t, url, AnyWorker, RoleDecides), begin(t, url, AnyWorker, RoleDecides)
	own, spare := begin(t, url, "gpu0", RoleDecides), begin(t, url, "gpu1", RoleFallback)
	acquainted(t, a, b, c, own, spare)
	for i := range 100 {
		if w := fmt.Sprintf("w%d", i); owners(w, a, b, c) != 1 {
			t.Errorf("%s has %d owners", w, owners(w, a, b, c))
		}
	}
	if owners("gpu0", a, b, c, own) != 1 || !own.Owns("gpu0") || owners("gpu1", a, b, c, spare) != 1 || spare.Owns("gpu1") {
		t.Error("a worker's own process comes first, its fallback last")
	}
	if p := spare.Part("gpu1"); p != natsio.PartFollows {
		t.Errorf("the fallback has part %d, want %d", p, natsio.PartFollows)
	}
	if p := spare.Part("w1"); p != natsio.PartElsewhere {
		t.Errorf("the fallback has part %d in another's worker, want %d", p, natsio.PartElsewhere)
	}
	if n := len(own.Claims()); n != 5 || own.Claims()[0].Worker != "gpu0" {
		t.Errorf("claims %+v, want its own and those of four others", own.Claims())
	}
}

func TestASecondProcessOfOneNameIsToldOf(t *testing.T) {
	url := bustest.Server(t).URL()
	log := &texttest.Log{}
	m, err := Join(bustest.Dial(t, url), Config{Worker: "gpu0", Role: RoleDecides, Log: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	defer m.Close()
	m.Begin()
	other := begin(t, url, "gpu0", RoleDecides)
	acquainted(t, m, other)
	if !m.Owns("gpu0") || other.Owns("gpu0") {
		t.Error("it is not the one that started first that decides")
	}
	eventually(t, "the log warns", func() bool { return strings.Contains(log.String(), "level=WARN") })
}

func TestWorkersOfAProcessThatHandsOverHaveAnOwnerAtOnce(t *testing.T) {
	url := bustest.Server(t).URL()
	a, b := begin(t, url, AnyWorker, RoleDecides), begin(t, url, AnyWorker, RoleDecides)
	acquainted(t, a, b)
	if b.Owns("w") {
		a, b = b, a
	}
	a.HandOver(t.Context())
	if a.Owns("w") {
		t.Error("it still decides after it has handed over")
	}
	eventually(t, "the other decides", func() bool { return b.Owns("w") })
	b.HandOver(t.Context())
	eventually(t, "the last one goes on to its end", func() bool { return b.Owns("w") })
}

func TestAProcessWithoutPeersTakesOverWhenTheirConnectionEnds(t *testing.T) {
	url := bustest.Server(t).URL()
	a, b := begin(t, url, AnyWorker, RoleDecides), begin(t, url, AnyWorker, RoleDecides)
	var told atomic.Int32
	b.cfg.Changed = func(worker string) {
		if worker == AnyWorker {
			told.Add(1)
		}
	}
	acquainted(t, a, b)
	before := told.Load()
	a.conn.Close()
	eventually(t, "the other decides for all", func() bool { return b.Owns("w1") && b.Owns("w2") && len(b.Claims()) == 1 })
	if told.Load() == before {
		t.Error("it was not told that owners changed")
	}
	if !a.Owns("w1") || !a.Owns("w2") {
		t.Error("a process without a connection leaves its workers to others, of whom it hears nothing")
	}
}

// What has the permission to publish claims, and not to listen for requests, decides nothing.
func TestClaimsThatNobodyAnswersForDoNotCount(t *testing.T) {
	url := bustest.Server(t).URL()
	m := begin(t, url, AnyWorker, RoleDecides)
	hostile := bustest.Dial(t, url)
	for i := range 2 * maxPeers {
		c := Claim{Incarnation: uint64(i) + 1, Worker: AnyWorker, Role: RoleDecides, Deciding: true}
		must(t, hostile.PublishRequest(m.subject, "", c.text()))
	}
	must(t, hostile.Flush(t.Context()))
	other := begin(t, url, AnyWorker, RoleDecides)
	acquainted(t, m, other)
	for i := range 100 {
		if w := fmt.Sprintf("w%d", i); owners(w, m, other) != 1 {
			t.Errorf("%s has %d owners", w, owners(w, m, other))
		}
	}
}

func TestBadClaimsAreRefused(t *testing.T) {
	url := bustest.Server(t).URL()
	log := &texttest.Log{}
	m, err := Join(bustest.Dial(t, url), Config{Worker: "w", Role: RoleDecides, Log: slog.New(slog.NewTextHandler(log, nil))})
	must(t, err)
	defer m.Close()
	c := bustest.Dial(t, url)
	for _, text := range []string{"", "{", `{"incarnation":"9","worker":"a.b"}`, string(make([]byte, 2*maxClaim))} {
		must(t, c.PublishRequest(m.subject, "", []byte(text)))
	}
	claimed := Claim{Incarnation: 9, Worker: "v", Role: RoleDecides}
	stolen := Claim{Incarnation: 10, Worker: "w", Role: RoleDecides, Deciding: true} // with the permission to claim v only
	must(t, c.PublishRequest("ringmaster.v1.decider.v", "", stolen.text()))
	if err := c.PublishRequest("ringmaster.v1.decider.v", "ringmaster.v1.decider.v", claimed.text()); err != nil { // an answer there would be a claim
		t.Fatal(err)
	}
	eventually(t, "the good one is known", func() bool { return len(m.Claims()) == 2 })
	if len(log.Take()) == 0 {
		t.Error("nothing is said of bad claims")
	}
	if _, err := Join(c, Config{Worker: "a.b", Role: RoleDecides, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a worker that is no name can be claimed")
	}
	if _, err := Join(c, Config{Worker: AnyWorker, Role: RoleFallback, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a fallback for all workers can be claimed")
	}
}

// sink takes telemetry and says whose it was.
type sink struct{ workers chan string }

func (s sink) Ingest(worker, _ string, _ *telemetry.Record, _ time.Time, _ string) error {
	s.workers <- worker
	return nil
}
func (s sink) Announce(string, *telemetry.Record) error { return nil }
func (s sink) Latest(string, string) (telemetry.Recommendation, bool) {
	return telemetry.Recommendation{}, false
}

func TestTelemetryIsTakenByThoseThatMayDecide(t *testing.T) {
	url := bustest.Server(t).URL()
	serve := func(worker string) (sink, *natsio.Ingest, *Membership) {
		m := begin(t, url, worker, RoleDecides)
		s, cfg := sink{make(chan string, 10)}, natsio.DefaultIngestConfig()
		cfg.Part = m.Part
		in, err := m.conn.Serve(s, cfg)
		must(t, err)
		return s, in, m
	}
	client := bustest.Dial(t, url)
	publish := func(worker string) {
		t.Helper()
		record := telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 7, Seq: 1, SentNs: 1}, &telemetry.Queue{Has: telemetry.HasQueueLen})
		must(t, client.PublishRequest(client.Subjects().Telemetry(worker, "q"), "", record))
	}
	gpu, gpuIn, gpuAs := serve("gpu0")
	publish("w")
	eventually(t, "a record of a worker that nobody claims is refused", func() bool { return gpuAs.conn.Refusals().ByReason[natsio.ReasonNoDecider] == 1 })

	one, oneIn, a := serve(AnyWorker)
	two, twoIn, b := serve(AnyWorker)
	acquainted(t, gpuAs, a, b)
	publish("w")
	publish("gpu0")
	for name, s := range map[string]sink{"gpu0": gpu, "one": one, "two": two} {
		want := []string{"w", "gpu0"}
		if name == "gpu0" {
			want = want[1:]
		}
		for _, w := range want {
			if got := <-s.workers; got != w {
				t.Errorf("%s took a record of %s, want %s", name, got, w)
			}
		}
	}
	followed := uint64(0)
	for _, in := range []*natsio.Ingest{gpuIn, oneIn, twoIn} {
		must(t, in.Stop(t.Context()))
		followed += in.Stats().Followed
	}
	if s := gpuIn.Stats(); s.Records != 1 || s.Elsewhere != 1 {
		t.Errorf("the worker's own process: %+v", s)
	}
	if followed != 3 { // gpu0's by both, w's by the one that does not decide for it
		t.Errorf("%d records were taken by who does not decide, want 3", followed)
	}
}

// A process that asks chooses the reply subject, and the answer would be written with this one's rights.
func TestQuestionsAreAnsweredAtInboxesOnly(t *testing.T) {
	url := bustest.Server(t).URL()
	m, asker := begin(t, url, "gpu0", RoleDecides), bustest.Dial(t, url)
	heard, err := asker.NATS().SubscribeSync("ringmaster.v1.recommend.gpu1.q")
	must(t, err)
	for _, subject := range []string{m.node(m.conn.Incarnation()), "ringmaster.v1.decider"} {
		must(t, asker.PublishRequest(subject, heard.Subject, []byte("{}")))
		if _, err := asker.NATS().Request(subject, []byte("{}"), long); err != nil { // handled after the first
			t.Error(err)
		}
	}
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Errorf("%d answers on a subject of somebody else, %v", n, err)
	}
	if n := m.conn.Refusals().ByReason[natsio.ReasonBadReply]; n != 2 {
		t.Errorf("%d of 2 questions were refused", n)
	}
}
