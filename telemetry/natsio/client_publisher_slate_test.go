package natsio

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

func newSlate(cfg PublisherConfig) *slate {
	s := new(slate)
	s.init(&cfg, telemetry.Subjects{}, telemetry.FormMap)
	return s
}

func TestReportsAreMergedFieldByField(t *testing.T) {
	s := newSlate(DefaultPublisherConfig())
	name := queueName{"w", "a"}
	must(t, s.reportQueue(name, &telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasHotOpcodeCount, QueueLen: 9, HotOpcodeCount: 3}, 1))
	must(t, s.reportQueue(name, &telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasExecutedCount, QueueLen: 0, ExecutedCount: 5}, 2))
	var p parcel
	if !s.next(&p, 1<<16) {
		t.Fatal("nothing is due")
	}
	r := decodeAll(p.payload)[0]
	want := telemetry.Queue{Has: telemetry.HasQueueLen | telemetry.HasHotOpcodeCount | telemetry.HasExecutedCount, HotOpcodeCount: 3, ExecutedCount: 5}
	if r.Queue != want || r.SentNs != 2 || r.Seq != 1 {
		t.Errorf("sent %+v at %d, want %+v", r.Queue, r.SentNs, want)
	}
}

func TestWhatIsAnnouncedIsACopy(t *testing.T) {
	s := newSlate(DefaultPublisherConfig())
	w := telemetry.Worker{Has: telemetry.HasCapabilities | telemetry.HasOpcodes, Capabilities: []string{"a"}, Opcodes: []telemetry.Opcode{{ID: 32, Name: "a"}}}
	must(t, s.announce("w", &w, 1))
	w.Capabilities[0], w.Opcodes[0].Name = "b", "b"
	var p parcel
	if !s.next(&p, 1<<16) {
		t.Fatal("nothing is due")
	}
	if r := decodeAll(p.payload)[0]; r.Worker.Capabilities[0] != "a" || r.Worker.Opcodes[0].Name != "a" {
		t.Errorf("sent %+v", r.Worker)
	}
}

func TestReportThatTheRuntimeWouldRefuseIsRefusedAtOnce(t *testing.T) {
	cfg := DefaultPublisherConfig()
	cfg.MaxQueues = 1
	p := newPublisher(cfg, newWire(), telemetry.Subjects{}, telemetry.FormMap)
	for reason, err := range map[string]error{
		telemetry.ReasonOutOfRange: p.ReportGraph("w", "bad", &telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: 10001}),
		telemetry.ReasonInconsistent: errors.Join(
			p.ReportGraph("w", "a", &telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: 5}),
			p.ReportGraph("w", "a", &telemetry.Graph{Has: telemetry.HasFrontierNodes, FrontierNodes: 6})),
		telemetry.ReasonMissingField: p.ReportLaunch("w", "a", &telemetry.Launch{}),
	} {
		if telemetry.ReasonOf(err) != reason {
			t.Errorf("%v, want reason %s", err, reason)
		}
	}
	must(t, p.ReportQueue("w", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 5}))
	if err := p.ReportQueue("w", "a", &telemetry.Queue{Has: telemetry.HasExecutedCount, ExecutedCount: 4}); telemetry.ReasonOf(err) != telemetry.ReasonInconsistent {
		t.Errorf("a counter that fell: %v", err)
	}
	if err := p.ReportQueue("w", "b", length(1)); !errors.Is(err, ErrBacklog) {
		t.Errorf("second queue of one: %v, want ErrBacklog", err)
	}
	for _, err := range []error{p.ReportQueue("w w", "a", length(1)), p.ReportQueue("w", "_batch", length(1)), p.Announce("", announcementOf(1))} {
		if !errors.Is(err, ErrBadName) {
			t.Errorf("%v, want ErrBadName", err)
		}
	}
	if s := p.Stats(); s.Dropped != 1 || s.Waiting != 2 {
		t.Errorf("stats %+v, want the refused queue counted and two records waiting", s)
	}
}

func TestForgottenQueueIsNotSentAndItsNumbersDoNotFall(t *testing.T) {
	cfg := DefaultPublisherConfig()
	cfg.PerQueue = true
	s := newSlate(cfg)
	name := queueName{"w", "a"}
	var p parcel
	for range 3 {
		must(t, s.reportQueue(name, length(1), 1))
		s.next(&p, 1<<16)
		s.sent(&p)
	}
	must(t, s.reportQueue(name, length(1), 1))
	must(t, s.reportLaunch(name, launchReportOf(1), 1))
	s.forget(name)
	s.refresh()
	if s.next(&p, 1<<16) || s.waiting != 0 || len(s.subjects) != 0 {
		t.Errorf("%d records of a forgotten queue wait, %d subjects are known", s.waiting, len(s.subjects))
	}
	must(t, s.reportQueue(name, length(1), 1))
	if !s.next(&p, 1<<16) || decodeAll(p.payload)[0].Seq <= 3 {
		t.Errorf("the queue came back with number %d, had 3", decodeAll(p.payload)[0].Seq)
	}
}

// Whatever is reported, forgotten, sent and not sent, in any order: numbers
// rise on every subject, launches of a queue arrive in order, the newest state
// of every queue arrives, and the count of what waits is right.
func TestSlateKeepsItsPromisesUnderAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := DefaultPublisherConfig()
		cfg.MaxLaunches = rapid.IntRange(1, 20).Draw(t, "max launches")
		cfg.PerQueue = rapid.Bool().Draw(t, "per queue")
		s := newSlate(cfg)
		limit := rapid.IntRange(1, 2000).Draw(t, "limit")
		model := map[string]uint32{}   // newest length reported
		arrived := map[string]uint32{} // and received
		seqs := map[string]uint64{}
		launches := map[string]uint64{}
		var launch, length32 = uint64(0), uint32(0)
		queue := rapid.SampledFrom([]string{"a", "b", "c"})
		deliver := func(fail bool) bool {
			var p parcel
			if !s.next(&p, limit) {
				return false
			}
			if fail {
				s.restore(&p)
				return true
			}
			for _, r := range decodeAll(p.payload) {
				if r.Seq <= seqs[p.to.subject] {
					t.Fatalf("number %d after %d on %s", r.Seq, seqs[p.to.subject], p.to.subject)
				}
				seqs[p.to.subject] = r.Seq
				name := r.Header.Queue
				if cfg.PerQueue {
					name = p.to.subject[len(p.to.subject)-1:]
				}
				if r.Kind == telemetry.KindLaunch {
					if r.Launch.Launch <= launches[name] {
						t.Fatalf("launch %d after %d", r.Launch.Launch, launches[name])
					}
					launches[name] = r.Launch.Launch
				} else {
					arrived[name] = r.Queue.QueueLen
				}
			}
			if len(p.payload) > limit && p.records > 1 {
				t.Fatalf("%d bytes in a payload, at most %d", len(p.payload), limit)
			}
			s.sent(&p)
			return true
		}
		t.Repeat(map[string]func(*rapid.T){
			"report": func(t *rapid.T) {
				name := queue.Draw(t, "queue")
				length32++
				model[name] = length32
				if err := s.reportQueue(queueName{"w", name}, length(length32), 1); err != nil {
					t.Fatal(err)
				}
			},
			"launch": func(t *rapid.T) {
				launch++
				if err := s.reportLaunch(queueName{"w", queue.Draw(t, "queue")}, launchReportOf(launch), 1); err != nil {
					t.Fatal(err)
				}
			},
			"forget": func(t *rapid.T) {
				name := queue.Draw(t, "queue")
				s.forget(queueName{"w", name})
				delete(model, name)
			},
			"reconnect": func(*rapid.T) { s.refresh() },
			"send":      func(*rapid.T) { deliver(false) },
			"fail":      func(*rapid.T) { deliver(true) },
		})
		for deliver(false) {
		}
		for name, want := range model {
			if arrived[name] != want {
				t.Fatalf("queue %s ended at %d, want %d", name, arrived[name], want)
			}
		}
		if s.waiting != 0 || len(s.due) != 0 {
			t.Fatalf("%d records wait after everything was sent", s.waiting)
		}
	})
}
