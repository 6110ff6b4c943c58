package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/cmd/runtime/graphs"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/ownership"
)

// evil sets a terminal's title, clears its screen by the escape character of eight bits, and
// ends with one that JSON leaves as it is.
const evil = "evil\x1b]0;title\x07\u009b2J\x7f"

// paint puts evil into every text of a value that v points to, 1 into its numbers and one element
// into its lists. Names are left out: a receiver refuses those that are not tokens.
func paint(v any) { paintValue(reflect.ValueOf(v).Elem()) }

func paintValue(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(evil)
	case reflect.Struct:
		for i := range v.NumField() {
			switch v.Type().Field(i).Name {
			case "Has":
				v.Field(i).SetUint(1<<64 - 1)
			case "Batch", "Queue", "Worker", "Fingerprint", "Decided":
			default:
				paintValue(v.Field(i))
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		paintValue(v.Index(0))
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	}
}

// liar says evil things as worker w2.
type liar struct {
	t    *testing.T
	conn *natsio.Conn
	nc   *nats.Conn
}

func newLiar(t *testing.T, url string) *liar {
	t.Helper()
	conn := bustest.Dial(t, url)
	l := &liar{t: t, conn: conn, nc: conn.NATS()}
	if err := conn.EnsureWorkStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	for subject, answer := range map[string]nats.MsgHandler{
		"ringmaster.v1.work.w2.q": l.work, "ringmaster.v1.heap.w2.q": l.fail, "ringmaster.v1.cancel.w2.q": l.fail, "ringmaster.v1.telemetry.w2.*": l.fail,
	} {
		if _, err := l.nc.Subscribe(subject, answer); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := conn.ServeGraphs("w2", l); err != nil {
		t.Fatal(err)
	}
	return l
}

// setAside puts a batch into the stream of those that were set aside.
func (l *liar) setAside() {
	_, err := l.conn.JetStream().CreateStream(l.t.Context(), jetstream.StreamConfig{Name: "RINGMASTER_POISON", Subjects: []string{"ringmaster.v1.poison.>"}})
	if err == nil {
		m := nats.NewMsg("ringmaster.v1.poison.w2.q")
		m.Header.Set("Ringmaster-Batch", evil)
		m.Header.Set("Ringmaster-Slots", evil)
		work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: "b", Slots: make([]telemetry.Slot, 1)}
		m.Data = telemetry.Append(nil, telemetry.EncodingMap, telemetry.Header{Incarnation: 1, Seq: 1}, &work)
		_, err = l.conn.JetStream().PublishMsg(l.t.Context(), m)
	}
	if err != nil {
		l.t.Fatal(err)
	}
}

// say publishes a painted record.
func (l *liar) say(subject string, body telemetry.Body) {
	h := l.conn.Header(subject)
	if err := l.nc.Publish(subject, telemetry.Append(nil, telemetry.EncodingMap, h, body)); err != nil {
		l.t.Error(err)
	}
}

// fail answers a request with an error.
func (l *liar) fail(m *nats.Msg) {
	answer := nats.NewMsg(m.Reply)
	answer.Header.Set("Nats-Service-Error-Code", "409")
	answer.Header.Set("Nats-Service-Error", evil)
	_ = l.nc.PublishMsg(answer) // to nobody, if nobody waits
}

// work answers a batch with a refusal and a done record.
func (l *liar) work(m *nats.Msg) {
	var d telemetry.Decoder
	var r telemetry.Record
	d.Reset(m.Data)
	if err := d.Next(&r); err != nil {
		l.t.Error(err)
		return
	}
	refused := telemetry.Rejected{}
	paint(&refused)
	refused.Subject = m.Subject
	l.say("ringmaster.v1.rejected.w2.q", &refused)
	l.say("ringmaster.v1.done.w2.q", &telemetry.Done{Batch: r.Work.Batch, Dropped: uint32(r.Work.Count()), Error: evil, WorkSentNs: r.Header.SentNs})
}

// Answer answers requests about graphs.
func (l *liar) Answer(_ context.Context, _ string, r *telemetry.GraphRequest) error {
	report := graphs.Report{}
	paint(&report)
	text, err := json.Marshal(&report)
	switch {
	case err != nil:
		return err
	case r.Ask == telemetry.GraphList:
		r.Data = fmt.Appendf(nil, `[{"name":"evil\u001b[2J%s"}]`, "\u009b\x7f")
	case r.Ask == telemetry.GraphRun:
		r.Result, r.Offset, r.Total = 1, uint64(len(text)), uint64(len(text))
	case r.Ask == telemetry.GraphRead:
		r.Data = text
	default:
		return fmt.Errorf("%w: %s", natsio.ErrNoGraph, evil)
	}
	return nil
}

// repeat does something again and again until ended is closed: who listens may begin late.
func (l *liar) repeat(ended <-chan outcome, do func()) outcome {
	for {
		do()
		select {
		case got := <-ended:
			return got
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// obeyed is the first text of an output that a terminal would obey.
func obeyed(output string) string {
	at := strings.IndexFunc(output, func(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' })
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("%.40q", output[at:])
}

// Every text of every record that comes from the bus, and of every error, in every command that prints it.
func TestNothingFromTheBusIsObeyedByATerminal(t *testing.T) {
	server, err := startServer("127.0.0.1", -1, t.TempDir(), quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	l := newLiar(t, server.URL())
	l.setAside()
	l.setAside()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("1 2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	recommend := func() {
		r := telemetry.Recommendation{}
		paint(&r)
		l.say("ringmaster.v1.recommend.w2.q", &r)
		r.Error = ""
		l.say("ringmaster.v1.recommend.w2.q", &r)
	}
	for args, do := range map[string]func(){
		"watch --count 2": recommend, "watch --count 2 --json": recommend, "watch --count 2 --json --heartbeats": recommend,
		"publish": nil, "submit --slots nop": nil, "submit --slots nop --results": nil, "cancel b": nil,
		"heap download 0:1": nil, "heap upload 0:" + file: nil,
		"graph list": nil, "graph list --json": nil, "graph drop g": nil, "graph load g " + file: nil,
		"graph run bfs g --source 0": nil, "graph run bfs g --source 0 --json": nil,
		"work list": nil, "work list --json": nil, "work show 1": nil, "work run 2": nil,
	} {
		t.Run(args, func(t *testing.T) {
			line := append(strings.Fields(args), "--nats", server.URL())
			if !strings.HasSuffix(args, " 1") && !strings.HasSuffix(args, " 2") { // the number of a batch says whose it is
				line = append(line, "--worker", "w2", "--queue", "q")
			}
			ended := make(chan outcome, 1)
			go func() { ended <- ringmaster(t, t.Context(), `{"kind":"queue","queue_len":64}`+"\n", line...) }()
			if do == nil {
				do = func() {}
			}
			got := l.repeat(ended, do)
			if out := got.stdout + got.err; obeyed(out) != "" || !strings.Contains(out, "evil") {
				t.Errorf("exit code %d: a terminal would obey %s of %q", got.code, obeyed(out), out)
			}
		})
	}
}

func TestNothingFromTheBusIsObeyedByTheTerminalOfARuntime(t *testing.T) {
	server, err := startServer("127.0.0.1", -1, t.TempDir(), quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer server.Shutdown()
	for _, format := range []string{"text", "json"} {
		t.Run(format, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			var log texttest.Log
			code := make(chan int)
			go func() {
				code <- execute(ctx, []string{"run", "--no-gpu", "--nats", server.URL(), "--log-format", format, "--log-level", "debug"},
					terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: &log})
			}()
			l := newLiar(t, server.URL())
			for round := 0; round < 5 || !strings.Contains(log.String(), "evil"); round++ {
				for _, body := range []telemetry.Body{&telemetry.Launch{}, &telemetry.Queue{}, &telemetry.Graph{}, &telemetry.Priority{}, &telemetry.Recommendation{}} {
					paint(body)
					if launch, ok := body.(*telemetry.Launch); ok {
						launch.Status = telemetry.LaunchFailed
					}
					l.say("ringmaster.v1.telemetry.w2.q", body)
				}
				worker := telemetry.Worker{}
				paint(&worker)
				l.say("ringmaster.v1.worker.w2", &worker)
				claim := ownership.Claim{Incarnation: 1, Worker: ownership.AnyWorker, Role: ownership.RoleDecides, Deciding: true, SinceNs: 1, Process: evil}
				text, err := json.Marshal(claim)
				if err != nil {
					t.Fatal(err)
				}
				if err := l.nc.Publish("ringmaster.v1.decider", text); err != nil {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			cancel()
			<-code
			if out := log.String(); obeyed(out) != "" {
				t.Errorf("a terminal would obey %s of %s", obeyed(out), out)
			}
		})
	}
}

// Whoever may write the stream of decisions, or a file that is passed on, chooses what is in it.
func TestNothingInADecisionLogIsObeyedByATerminal(t *testing.T) {
	section := decisionlog.NewSection(&decisionlog.Header{Incarnation: 7, Software: evil, Config: policy.Standard()})
	log := section.AppendHeader(nil)
	log = section.Append(log, &decisionlog.Entry{Worker: "w", Queue: "q", Decision: 1, Error: evil})
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, log, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{}, {"--explain", "1"}, {"--policy", "reference"}} {
		got := ringmaster(t, t.Context(), "", append([]string{"replay", path}, args...)...)
		if out := got.stdout + got.err; obeyed(out) != "" || !strings.Contains(out, "evil") {
			t.Errorf("%v: a terminal would obey %s of %q", args, obeyed(out), out)
		}
	}
}

func TestDoctorPrintsNothingOfAServerThatATerminalObeys(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintf(conn, "INFO {\"server_id\":\"a\",\"max_payload\":1048576}\r\n-ERR 'evil%s'\r\n", evil)
		}
	}()
	got := ringmaster(t, t.Context(), "", "doctor", "--no-gpu", "--nats", "nats://"+listener.Addr().String())
	if out := got.stdout + got.err; got.code != 8 || obeyed(out) != "" || !strings.Contains(out, "evil") {
		t.Errorf("exit code %d: a terminal would obey %s of %q", got.code, obeyed(out), out)
	}
}

func TestAnImpossibleDoneRecordIsAnError(t *testing.T) {
	possible := telemetry.Done{Executed: 2, Faulted: 1, Faults: []telemetry.Fault{{Index: 2}}, Results: []uint32{1, 2, 0},
		Printed: 1, Prints: []uint32{1, 0, 0, 0, 0}}
	if err := impossible(&possible, 3, true); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*telemetry.Done){
		"more slots than were sent":  func(d *telemetry.Done) { d.Executed = 3 },
		"fewer slots than were sent": func(d *telemetry.Done) { d.Executed = 1 },
		"a fault outside":            func(d *telemetry.Done) { d.Faults = []telemetry.Fault{{Index: 3}} },
		"a print outside":            func(d *telemetry.Done) { d.Prints = []uint32{3, 0, 0, 0, 0} },
		"too few results":            func(d *telemetry.Done) { d.Results = d.Results[:2] },
		"too many results":           func(d *telemetry.Done) { d.Results = append(slices.Clone(d.Results), 1) },
	} {
		lie := possible
		change(&lie)
		if impossible(&lie, 3, true) == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
