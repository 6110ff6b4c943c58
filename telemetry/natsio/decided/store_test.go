package decided

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/actors/fence"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

func TestWhatIsStoredGoesOutAndWhatIsRefusedDoesNot(t *testing.T) {
	url := bustest.Server(t).URL()
	a, b := newNode(t, url).ready(t), newNode(t, url).ready(t)
	type heard struct {
		h telemetry.Header
		r telemetry.Recommendation
	}
	out := make(chan heard, 10)
	listener := bustest.Dial(t, url)
	_, err := listener.SubscribeRecommendations("w", "*", func(_, _ string, h *telemetry.Header, r *telemetry.Recommendation) {
		out <- heard{*h, telemetry.Recommendation{Decision: r.Decision, Fenced: r.Fenced, Heartbeat: r.Heartbeat, Decided: slices.Clone(r.Decided)}}
	})
	must(t, err)
	inbox := listener.NATS().NewInbox()
	answers := make(chan *nats.Msg, 10)
	_, err = listener.NATS().ChanSubscribe(inbox, answers)
	must(t, err)
	must(t, listener.Flush(bustest.Context(t)))

	first := bustest.Receive(t, a.start("q", 0, 1, inbox))
	if got := bustest.Receive(t, out); first.how != telemetry.WrittenStored || got.r.Decision != 1 || !got.r.Fenced || string(got.r.Decided) != `{"decision":1}` ||
		got.h.Incarnation != a.conn.Incarnation() {
		t.Errorf("stored %+v, heard %+v", first, got)
	}
	var d telemetry.Decoder
	var r telemetry.Record
	if d.Reset(bustest.Receive(t, answers).Data); d.Next(&r) != nil || r.Recommendation.Decision != 1 || len(r.Recommendation.Decided) != 0 || !r.Recommendation.Fenced {
		t.Errorf("answer %+v", r)
	}
	for _, expect := range []uint64{0, first.sequence - 1, first.sequence + 1, 1 << 40} {
		if got := bustest.Receive(t, b.start("q", expect, 2, inbox)); got.how != telemetry.WrittenRefused {
			t.Errorf("after %d, which is %d: %+v", expect, first.sequence, got)
		}
	}
	if len(out)+len(answers) != 0 {
		t.Error("what was refused went out")
	}
	m, err := b.newest(t, "q")
	if err != nil || m.Sequence != first.sequence || m.Recommendation.Decision != 1 || m.Recommendation.Reasons[0].Rule != "r" {
		t.Errorf("newest %+v, %v", m, err)
	}
	b.stored(t, "other", 0, 7)
	if second := b.stored(t, "q", first.sequence, 2); second != first.sequence+2 {
		t.Errorf("sequences %d and %d", first.sequence, second)
	}
	if m, err := a.newest(t, "none"); m != nil || err != nil {
		t.Errorf("of a queue without any: %+v, %v", m, err)
	}
	if got, want := b.Stats(), (Stats{Stored: 2, Refused: 4}); got != want {
		t.Errorf("counted %+v", got)
	}
}

// Of many who write at once one wins, however often.
func TestOneOfManyWins(t *testing.T) {
	url := bustest.Server(t).URL()
	race(t, []*node{newNode(t, url).ready(t), newNode(t, url).ready(t), newNode(t, url).ready(t)}, 200)
}

// race has every node write every decision of a queue.
func race(t *testing.T, nodes []*node, decisions uint64) {
	t.Helper()
	last := uint64(0)
	if m := nodes[0].newestSoon(t, "race"); m != nil {
		last = m.Sequence
	}
	for number := uint64(1); number <= decisions; number++ {
		var answers []<-chan result
		for _, n := range nodes {
			answers = append(answers, n.start("race", last, number))
		}
		expected, won := last, 0
		for _, a := range answers {
			switch r := bustest.Receive(t, a); r.how {
			case telemetry.WrittenStored:
				won++
				last = r.sequence
			case telemetry.WrittenRefused:
			default:
				t.Fatalf("decision %d: %+v", number, r)
			}
		}
		if won != 1 || last <= expected {
			t.Fatalf("decision %d after %d: %d won, at %d", number, expected, won, last)
		}
	}
}

func TestAnswersThatAreLost(t *testing.T) {
	t.Parallel() // it waits, mostly
	server := natstest.Start(t)
	n := newNode(t, server.URL).ready(t)
	first := n.stored(t, "q", 0, 1)

	server.Stop()
	late := n.start("q", first, 2)
	if got := bustest.Receive(t, late); got.how != telemetry.WrittenUnknown {
		t.Errorf("without an answer: %+v", got)
	}
	server.Continue()
	for until := time.Now().Add(natstest.Patience); ; time.Sleep(time.Millisecond) { // it is stored late
		if m := n.newestSoon(t, "q"); m.Recommendation.Decision == 2 {
			first = m.Sequence
			break
		}
		if time.Now().After(until) {
			t.Fatal("it was lost")
		}
	}

	server.Stop()
	lost := n.start("q", first, 3)
	if got := bustest.Receive(t, lost); got.how != telemetry.WrittenUnknown {
		t.Errorf("without an answer: %+v", got)
	}
	server.Kill()
	must(t, n.conn.WaitState(bustest.Context(t), natsio.StateDisconnected))
	began := time.Now()
	if got := n.store(t, "q", first, 3); got.how != telemetry.WrittenAway || time.Since(began) > answerTime/2 {
		t.Errorf("without a server: %+v after %v", got, time.Since(began))
	}
	if _, err := n.newest(t, "q"); !errors.Is(err, natsio.ErrDisconnected) {
		t.Errorf("without a server: %v", err)
	}
	server.Start()
	must(t, n.conn.WaitState(bustest.Context(t), natsio.StateConnected))
	if m := n.newestSoon(t, "q"); m.Recommendation.Decision != 2 {
		t.Errorf("newest %+v", m)
	}
	n.ready(t).stored(t, "q", first, 3)
	if len(lost)+len(late) != 0 {
		t.Error("a write had two outcomes")
	}
}

func TestAStreamThatIsMadeAnew(t *testing.T) {
	t.Parallel() // it waits, mostly
	url := bustest.Server(t).URL()
	n := newNode(t, url).ready(t)
	last := n.stored(t, "q", n.stored(t, "q", 0, 1), 2)
	again := make(chan bool, 10)
	n.OnReady(func() { again <- true })
	must(t, n.conn.JetStream().DeleteStream(bustest.Context(t), StreamName(n.conn.Subjects())))
	if got := n.store(t, "q", last, 3); got.how != telemetry.WrittenUnknown {
		t.Errorf("into a stream that is gone: %+v", got)
	}
	n.log.wait(t, "decisions are not stored")
	bustest.Receive(t, again)
	if m := n.newestSoon(t, "q"); m != nil {
		t.Errorf("newest %+v", m)
	}
	if got := n.store(t, "q", last, 3); got.how != telemetry.WrittenRefused {
		t.Errorf("after what is gone: %+v", got)
	}
	n.stored(t, "q", 0, 3)
	if texts, err := Policies(bustest.Context(t), n.conn); err != nil || string(texts["p1"]) != `{"a":1}` {
		t.Errorf("policies %q, %v", texts, err)
	}
}

// An old copy of the stream is put back: sequences go back, and what was expected is refused.
func TestASequenceThatWentBack(t *testing.T) {
	t.Parallel() // it waits, mostly
	server := natstest.Start(t)
	dir := server.Args[slices.Index(server.Args, "-sd")+1]
	n := newNode(t, server.URL).ready(t)
	first := n.stored(t, "q", 0, 1)
	server.Kill()
	backup := t.TempDir()
	must(t, os.CopyFS(backup, os.DirFS(dir)))
	server.Start()
	must(t, n.conn.WaitState(bustest.Context(t), natsio.StateConnected))
	last := first
	for number := uint64(2); number < 10; number++ {
		last = n.stored(t, "q", last, number)
	}
	server.Kill()
	must(t, os.RemoveAll(dir))
	must(t, os.CopyFS(dir, os.DirFS(backup)))
	server.Start()
	must(t, n.conn.WaitState(bustest.Context(t), natsio.StateConnected))
	if got := n.store(t, "q", last, 10); got.how != telemetry.WrittenRefused {
		t.Errorf("after what is gone: %+v", got)
	}
	if m := n.newestSoon(t, "q"); m.Sequence != first || m.Recommendation.Decision != 1 {
		t.Errorf("newest %+v", m)
	}
	n.stored(t, "q", first, 10)
}

func TestAStreamOfAnotherPurpose(t *testing.T) {
	want := streamConfig(telemetry.Subjects{}, usual)
	for name, test := range map[string]struct {
		change func(c *jetstream.StreamConfig)
		says   string
	}{
		"other subjects":   {func(c *jetstream.StreamConfig) { c.Subjects, c.RePublish = []string{"x"}, nil }, "RINGMASTER_DECIDED is over [x]"},
		"no republication": {func(c *jetstream.StreamConfig) { c.RePublish = nil }, "does not republish ringmaster.v1.decided.> on ringmaster.v1.recommend.>"},
		"another one":      {func(c *jetstream.StreamConfig) { c.RePublish.Destination = "x.>" }, "does not republish"},
		"small messages":   {func(c *jetstream.StreamConfig) { c.MaxMsgSize = 1000 }, "takes messages of 1000 bytes"},
		"refuses the new":  {func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew }, "that refuses DiscardNew"},
	} {
		t.Run(name, func(t *testing.T) {
			c := bustest.Dial(t, bustest.Server(t).URL())
			other, republish := want, *want.RePublish
			other.RePublish, other.MaxBytes = &republish, 1<<20
			test.change(&other)
			_, err := c.JetStream().CreateStream(bustest.Context(t), other)
			must(t, err)
			n := newNode(t, c.NATS().ConnectedUrl())
			if err := Check(bustest.Context(t), c); !errors.Is(err, natsio.ErrStreamConflict) {
				t.Errorf("check: %v", err)
			}
			if line := n.log.wait(t, "decisions are not stored"); !strings.Contains(line, "stream exists with another purpose") || !strings.Contains(line, test.says) {
				t.Errorf("said %s", line)
			}
			if got := n.store(t, "q", 0, 1); got.how != telemetry.WrittenAway {
				t.Errorf("stored all the same: %+v", got)
			}
			must(t, c.JetStream().DeleteStream(bustest.Context(t), other.Name))
			n.ready(t).stored(t, "q", 0, 1)
		})
	}
}

// A stream that is there keeps the bounds that its operator gave it.
func TestAStreamKeepsItsBounds(t *testing.T) {
	c := bustest.Dial(t, bustest.Server(t).URL())
	_, err := c.JetStream().CreateStream(bustest.Context(t), streamConfig(c.Subjects(), Bounds{PerQueue: 3, MaxBytes: 1 << 20}))
	must(t, err)
	n, last := newNode(t, c.NATS().ConnectedUrl()).ready(t), uint64(0)
	for number := uint64(1); number < 10; number++ {
		last = n.stored(t, "q", last, number)
	}
	var kept []uint64
	must(t, Read(bustest.Context(t), c, func(m Message) error {
		kept = append(kept, m.Stored.Recommendation.Decision)
		return m.Err
	}))
	if fmt.Sprint(kept) != "[7 8 9]" {
		t.Errorf("kept %v", kept)
	}
	now := func() jetstream.StreamConfig {
		s, err := c.JetStream().Stream(bustest.Context(t), StreamName(c.Subjects()))
		must(t, err)
		return s.CachedInfo().Config
	}
	if got := now(); got.MaxMsgsPerSubject != 3 || got.MaxBytes != 1<<20 || got.MaxAge != usual.MaxAge {
		t.Errorf("bounds that nobody has configured: %+v", got)
	}
	other := newBoundedNode(t, c.NATS().ConnectedUrl(), Bounds{PerQueue: 5, MaxAge: time.Hour}).ready(t)
	if got := now(); got.MaxMsgsPerSubject != 5 || got.MaxBytes != 1<<20 || got.MaxAge != time.Hour {
		t.Errorf("bounds that are configured: %+v", got)
	}
	other.stored(t, "q", last, 10)
}

func TestWhereNothingCanBeStored(t *testing.T) {
	server := natstest.Start(t)
	server.Kill()
	args := slices.Clone(server.Args)
	conf := t.TempDir() + "/small.conf"
	must(t, os.WriteFile(conf, fmt.Appendf(nil, "jetstream { store_dir: %q, max_file_store: 100KB }", t.TempDir()), 0o600))
	for name, c := range map[string]struct {
		args []string
		says string
		want error
	}{
		"without JetStream": {slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-js" }), "no JetStream", ErrNoJetStream},
		"no space":          {append(slices.Clone(args[:4]), "-c", conf), "too little space", nil},
	} {
		t.Run(name, func(t *testing.T) {
			server.Args = c.args
			server.Start()
			defer server.Kill()
			n := newNode(t, server.URL)
			if err := Check(bustest.Context(t), n.conn); !errors.Is(err, c.want) {
				t.Errorf("check: %v", err)
			}
			if line := n.log.wait(t, "decisions are not stored"); !strings.Contains(line, c.says) {
				t.Errorf("said %s", line)
			}
			if got := n.store(t, "q", 0, 1); got.how != telemetry.WrittenAway || n.Stats().Away != 1 {
				t.Errorf("%+v, counted %+v", got, n.Stats())
			}
		})
	}
}

func TestBadWritesAndConfigurations(t *testing.T) {
	n := newNode(t, bustest.Server(t).URL()).ready(t)
	if err := Check(bustest.Context(t), n.conn); err != nil {
		t.Error(err)
	}
	done := make(chan result, 1)
	n.Write("w", "q", 0, &telemetry.Recommendation{Decision: 1, Decided: make([]byte, maxMessage)}, nil,
		func(sequence uint64, how telemetry.Written) { done <- result{sequence, how} })
	if got := bustest.Receive(t, done); got.how != telemetry.WrittenAway {
		t.Errorf("too large: %+v", got)
	}
	n.log.wait(t, "too large to be stored")
	n.Close()
	if got := n.store(t, "q", 0, 1); got.how != telemetry.WrittenAway {
		t.Errorf("closed: %+v", got)
	}
	if _, err := n.newest(t, "q"); !errors.Is(err, natsio.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
	for name, change := range map[string]func(c *Config){
		"no policy": func(c *Config) { c.Policy = "" }, "two tokens": func(c *Config) { c.Policy = "a.b" },
		"no bytes": func(c *Config) { c.Bounds.MaxBytes = 1 }, "no messages": func(c *Config) { c.Bounds.PerQueue = -1 },
		"no time": func(c *Config) { c.Bounds.MaxAge = time.Second },
	} {
		cfg := DefaultConfig()
		cfg.Policy = "p"
		change(&cfg)
		if s, err := Open(n.conn, cfg); err == nil {
			s.Close()
			t.Errorf("%s is accepted", name)
		}
	}
}

// Many queues at once, and Close in their midst: every write has one outcome, and what was stored is there.
func TestEveryWriteHasOneOutcome(t *testing.T) {
	n := newNode(t, bustest.Server(t).URL()).ready(t)
	var mu sync.Mutex
	outcomes := make(map[int]telemetry.Written)
	var all sync.WaitGroup
	const queues = 500
	for i := range queues {
		all.Add(1)
		n.Write("w", fmt.Sprint("q", i), 0, &telemetry.Recommendation{Decision: 1, Decided: []byte("x")}, nil, func(_ uint64, how telemetry.Written) {
			mu.Lock()
			defer mu.Unlock()
			if _, twice := outcomes[i]; twice {
				t.Errorf("queue %d has two outcomes", i)
			}
			outcomes[i] = how
			all.Done()
		})
		if i == queues/2 {
			go n.Close()
		}
	}
	all.Wait()
	n.Close()
	there := make(map[string]bool)
	must(t, Read(bustest.Context(t), n.conn, func(m Message) error {
		there[m.Queue] = true
		return m.Err
	}))
	for i, how := range outcomes {
		if there[fmt.Sprint("q", i)] != (how == telemetry.WrittenStored) {
			t.Errorf("queue %d: outcome %d, there %v", i, how, there[fmt.Sprint("q", i)])
		}
	}
}

// On three servers, whose leader is killed while three processes decide for one queue by the protocol of package
// fence: every number is decided once, every decision follows the one before it, what a process was told to
// hold is stored, and a follower hears the newest.
func TestDecisionsOfACluster(t *testing.T) {
	t.Parallel() // it waits, mostly
	servers, urls := natstest.Cluster(t)
	nodes := []*node{newNode(t, urls).ready(t), newNode(t, urls).ready(t), newNode(t, urls).ready(t)}
	stream, err := nodes[0].conn.JetStream().Stream(bustest.Context(t), StreamName(nodes[0].conn.Subjects()))
	must(t, err)
	if n := stream.CachedInfo().Config.Replicas; n != 3 {
		t.Errorf("%d replicas", n)
	}
	race(t, nodes, 50)
	heard := follow(t, bustest.Dial(t, urls), "*")

	var wait sync.WaitGroup
	held := make([][]uint64, len(nodes)) // numbers, by node
	var newest atomic.Uint64
	stop := make(chan struct{})
	for i, n := range nodes {
		wait.Go(func() { held[i] = n.decideBy(t, uint64(i+1), &newest, stop) })
	}
	reach := func(number uint64) {
		for until := time.Now().Add(natstest.Patience); newest.Load() < number; time.Sleep(time.Millisecond) {
			if time.Now().After(until) {
				t.Errorf("nothing is decided beyond %d: %+v", newest.Load(), nodes[0].Stats())
				return
			}
		}
	}
	reach(100)
	leader := leaderOf(t, stream)
	servers[leader].Kill()
	killed := time.Now()
	reach(newest.Load() + 20) // 3 may have been on their way
	t.Logf("20 decisions more are stored %v after the leader was killed", time.Since(killed).Round(time.Millisecond))
	servers[leader].Start()
	reach(newest.Load() + 100)
	close(stop)
	wait.Wait()

	var number, last uint64
	must(t, Read(bustest.Context(t), nodes[0].conn, func(m Message) error {
		if m.Queue != "q" || m.Err != nil {
			return m.Err
		}
		var previous, id uint64
		_, err := fmt.Sscanf(string(m.Stored.Recommendation.Decided), "%d after %d", &id, &previous)
		if number++; m.Stored.Recommendation.Decision != number || previous != last {
			t.Errorf("message %d after %d: decision %d, want %d; it follows %d", m.Sequence, last, m.Stored.Recommendation.Decision, number, previous)
		}
		last = m.Sequence
		return err
	}))
	of := make(map[uint64]int)
	for i := range nodes {
		t.Logf("process %d: %d decisions hold, %+v", i+1, len(held[i]), nodes[i].Stats())
		for _, n := range held[i] {
			if of[n] != 0 || n > number {
				t.Errorf("process %d holds decision %d, as %d does, of %d that are stored", i+1, n, of[n], number)
			}
			of[n] = i + 1
		}
	}
	for m := bustest.Receive(t, heard.messages); m.queue != "q" || m.Recommendation.Decision != number; {
		m = bustest.Receive(t, heard.messages)
	}
}

// decideBy decides for queue q by the protocol, as its owner would, until stop is closed. It returns the numbers of
// the decisions that hold.
func (n *node) decideBy(t *testing.T, node uint64, newest *atomic.Uint64, stop <-chan struct{}) (held []uint64) {
	var w fence.Writer
	number := uint64(0) // of the state
	for id := node; ; id += 10 {
		select {
		case <-stop:
			return held
		default:
		}
		expect := w.Begin(id)
		done := make(chan result, 1)
		r := &telemetry.Recommendation{Decision: number + 1, Decided: fmt.Appendf(nil, "%d after %d", id, expect)}
		n.Write("w", "q", expect, r, nil, func(sequence uint64, how telemetry.Written) { done <- result{sequence, how} })
		switch got := bustest.Receive(t, done); got.how {
		case telemetry.WrittenStored:
			w.Stored(got.sequence)
			number++
			held = append(held, number)
			newest.Store(number)
			time.Sleep(2 * time.Millisecond) // others decide too
			continue
		case telemetry.WrittenAway:
			w.Forget()
			time.Sleep(10 * time.Millisecond)
			continue
		}
		w.Doubt()
		m := n.newestSoon(t, "q")
		if m == nil {
			w.Read(0, 0)
			continue
		}
		var theirs uint64
		if _, err := fmt.Sscanf(string(m.Recommendation.Decided), "%d after", &theirs); err != nil {
			t.Error(err)
			return held
		}
		if number = m.Recommendation.Decision; w.Read(m.Sequence, theirs) {
			held = append(held, number)
		}
		newest.Store(max(newest.Load(), number))
	}
}

// leaderOf waits until the replicas have all of a stream, and returns its leader.
func leaderOf(t *testing.T, stream jetstream.Stream) string {
	t.Helper()
	for until := time.Now().Add(natstest.Patience); ; time.Sleep(10 * time.Millisecond) {
		info, err := stream.Info(context.Background())
		if err == nil && info.Cluster.Leader != "" && len(info.Cluster.Replicas) == 2 &&
			!slices.ContainsFunc(info.Cluster.Replicas, func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 }) {
			return info.Cluster.Leader
		}
		if time.Now().After(until) {
			t.Fatalf("replicas are behind: %+v, %v", info, err)
		}
	}
}
