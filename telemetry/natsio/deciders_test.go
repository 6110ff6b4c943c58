package natsio

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

func TestVerdict(t *testing.T) {
	any1, any2 := Claim{Incarnation: 1, Worker: AnyWorker, SinceNs: 10}, Claim{Incarnation: 2, Worker: AnyWorker, SinceNs: 20}
	gpu0, gpu0again := Claim{Incarnation: 3, Worker: "gpu0", SinceNs: 30}, Claim{Incarnation: 4, Worker: "gpu0", SinceNs: 40}
	deciding := func(c Claim) Claim { c.Deciding = true; return c }
	for _, c := range []struct {
		name   string
		own    Claim
		rivals []Claim
		worker string
		want   Verdict
	}{
		{"alone, for all", any1, nil, "w", DecidesThis},
		{"alone, for its own", gpu0, nil, "gpu0", DecidesThis},
		{"alone, for another's", gpu0, nil, "w", DecidesNobody},
		{"a worker with a runtime of its own", any1, []Claim{gpu0}, "gpu0", DecidesAnother},
		{"a worker beside it", any1, []Claim{gpu0}, "w", DecidesThis},
		{"a runtime of its own beside one for all", gpu0, []Claim{deciding(any1)}, "gpu0", DecidesThis},
		{"another's worker beside one for all", gpu0, []Claim{any1}, "w", DecidesAnother},
		{"both begin: the older", any1, []Claim{any2}, "w", DecidesThis},
		{"both begin: the younger", any2, []Claim{any1}, "w", DecidesAnother},
		{"one decides already, though its clock is ahead", any1, []Claim{deciding(any2)}, "w", DecidesAnother},
		{"both decide: the older", deciding(any1), []Claim{deciding(any2)}, "w", DecidesThis},
		{"both decide: the younger", deciding(any2), []Claim{deciding(any1)}, "w", DecidesAnother},
		{"one name twice: the younger", gpu0again, []Claim{gpu0}, "gpu0", DecidesAnother},
		{"one name twice: the older", gpu0, []Claim{gpu0again}, "gpu0", DecidesThis},
	} {
		rivals := map[uint64]rival{}
		for _, r := range c.rivals {
			rivals[r.Incarnation] = rival{Claim: r}
		}
		c.own.Deciding = leader(&c.own, rivals) == nil
		if got := verdict(&c.own, rivals, c.worker); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func claim(t *testing.T, c *Conn, worker string) *Deciders {
	t.Helper()
	d, err := c.Claim(worker, "test")
	must(t, err)
	return d
}

func TestTheSecondToClaimStandsByAndTakesOver(t *testing.T) {
	t.Parallel() // it waits until the first has been silent for long enough
	url := newServer(t).URL()
	a, b := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	first, second := claim(t, a, AnyWorker), claim(t, b, AnyWorker)
	defer second.Close()
	if x, y := first.Who("w"), second.Who("w"); x != DecidesThis || y != DecidesAnother {
		t.Fatalf("the first has %d, the second %d", x, y)
	}
	if all := second.Claims(); len(all) != 2 || all[0].Deciding || !all[1].Deciding || all[1].Process != "test" {
		t.Errorf("claims %+v", all)
	}
	first.Close()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for ctx := testContext(t); second.Who("w") != DecidesThis; flush(t, b) {
		select {
		case <-ctx.Done():
			t.Fatal("nobody takes over")
		case <-tick.C:
		}
	}
}

func TestOfManyThatBeginAtOnceOneDecides(t *testing.T) {
	url := newServer(t).URL()
	deciders := make([]*Deciders, 5)
	var begun sync.WaitGroup
	for i := range deciders {
		c := dial(t, fastConfig(url))
		begun.Go(func() { deciders[i] = claim(t, c, AnyWorker) })
	}
	begun.Wait()
	defer func() {
		for _, d := range deciders {
			d.Close()
		}
	}()
	deciding := -1
	for ctx := testContext(t); deciding != 1 && ctx.Err() == nil; {
		deciding = 0
		for _, d := range deciders {
			flush(t, d.conn)
			if d.Who("w") == DecidesThis {
				deciding++
			}
		}
	}
	if deciding != 1 {
		t.Errorf("%d decide", deciding)
	}
}

func TestHostileClaims(t *testing.T) {
	url := newServer(t).URL()
	d := claim(t, dial(t, fastConfig(url)), AnyWorker)
	defer d.Close()
	c := dial(t, fastConfig(url))
	for _, text := range []string{"", "{", "[]", "7", `{"incarnation":"0","worker":"w"}`, `{"incarnation":"9","worker":"a.b"}`, `{"incarnation":9,"worker":"w"}`,
		`{"incarnation":"9","worker":"w","since_ns":1e99}`, fmt.Sprintf(`{"incarnation":"9","worker":"w","process":%q}`, make([]byte, maxClaim))} {
		must(t, c.publish("ringmaster.v1.decider", []byte(text)))
	}
	for i := range 2 * maxRivals {
		must(t, c.publish("ringmaster.v1.decider", fmt.Appendf(nil, `{"incarnation":"%d","worker":"w%d"}`, i+1, i)))
	}
	flush(t, c)
	flush(t, d.conn) // its answer comes after all of them
	for ctx := testContext(t); len(d.Claims()) < maxRivals+1 && ctx.Err() == nil; {
		flush(t, d.conn)
	}
	if n := len(d.Claims()); n != maxRivals+1 {
		t.Errorf("%d claims are kept, want %d", n, maxRivals+1)
	}
}

func TestTelemetryIsLeftToTheOneThatDecides(t *testing.T) {
	url := newServer(t).URL()
	client := dial(t, fastConfig(url))
	open := func(worker string) (*testSink, *Ingest) {
		c := dial(t, fastConfig(url))
		cfg := DefaultIngestConfig()
		cfg.Deciders = claim(t, c, worker)
		t.Cleanup(cfg.Deciders.Close)
		sink := newSink()
		in, err := c.Serve(sink, cfg)
		must(t, err)
		return sink, in
	}
	gpu, gpuIn := open("gpu0")
	must(t, publishTelemetry(client, "w", "a", queueRecord(1, "")))
	flush(t, client)
	refused := func() uint64 { return gpuIn.conn.Refusals().ByReason[ReasonNoDecider] }
	for ctx := testContext(t); refused() == 0 && ctx.Err() == nil; {
		flush(t, gpuIn.conn)
	}
	if n := refused(); n != 1 {
		t.Errorf("%d refused for want of a decider, want the record of a worker that nobody claims", n)
	}
	all, allIn := open(AnyWorker)
	for ctx := testContext(t); gpuIn.cfg.Deciders.Who("w") != DecidesAnother && ctx.Err() == nil; {
		flush(t, gpuIn.conn)
	}
	must(t, publishTelemetry(client, "w", "a", queueRecord(2, "")))
	must(t, publishTelemetry(client, "gpu0", "a", queueRecord(3, "")))
	if got := receive(t, all.calls); got.worker != "w" {
		t.Errorf("taken by the one for all: %+v", got)
	}
	if got := receive(t, gpu.calls); got.worker != "gpu0" {
		t.Errorf("taken by gpu0's own: %+v", got)
	}
	for _, in := range []*Ingest{gpuIn, allIn} {
		flush(t, in.conn)
		must(t, in.Stop(testContext(t)))
		if s := in.Stats(); s.Elsewhere != 1 || s.Records != 1 {
			t.Errorf("stats %+v, want one record taken and one left", s)
		}
	}
}
