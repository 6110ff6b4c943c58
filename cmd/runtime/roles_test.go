package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/decisionlog"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/decided"
)

// node is a `ringmaster run` in a process of its own, so that it can be killed and stopped.
type node struct {
	*exec.Cmd
	t     *testing.T
	id    uint64 // its incarnation
	ended chan struct{}
}

// decider starts `ringmaster run --decide-only`, and returns when it serves.
func decider(t *testing.T, url string) *node { return startNode(t, url, "--decide-only") }

func startNode(t *testing.T, url string, args ...string) *node {
	t.Helper()
	n := &node{Cmd: exec.Command(os.Args[0], append([]string{"run", "--nats", url, "--worker", "w1", "--log-format", "json"}, args...)...), t: t, ended: make(chan struct{})}
	n.Env = append(os.Environ(), asCommand+"=1", "XDG_STATE_HOME="+t.TempDir())
	out, err := n.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	t.Cleanup(func() {
		n.kill()
		if t.Failed() {
			t.Logf("process %d said:\n%s", n.Process.Pid, said.String())
		}
	})
	serving := make(chan bool, 1)
	go func() {
		defer close(n.ended)
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			var line struct {
				Msg         string
				Incarnation string
			}
			if json.Unmarshal(lines.Bytes(), &line) == nil && strings.HasPrefix(line.Msg, "serving") {
				n.id, _ = strconv.ParseUint(line.Incarnation, 16, 64)
				serving <- true
			}
			said.WriteString(lines.Text() + "\n")
		}
		close(serving)
	}()
	if !<-serving {
		t.Fatal("it ended before it served")
	}
	return n
}

// kill ends the process as a crash would.
func (n *node) kill() {
	_ = n.Process.Kill() // fails only if it has ended
	<-n.ended
	_ = n.Wait() // says that it was killed
}

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.Process.Signal(s); err != nil {
		n.t.Fatal(err)
	}
}

// stopped stops the process where it is. A thread that runs stops some time after the signal was sent,
// so this waits until the kernel says that none of them runs.
func (n *node) stopped() {
	n.t.Helper()
	n.signal(syscall.SIGSTOP)
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(n.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		n.t.Fatalf("the process did not stop: status %#x, %v", status, err)
	}
}

// drained ends the process as its supervisor would.
func (n *node) drained() {
	n.t.Helper()
	n.signal(syscall.SIGTERM)
	<-n.ended
	if err := n.Wait(); err != nil {
		n.t.Errorf("it drained and ended with %v", err)
	}
}

// publisher publishes records of a worker's queues, and hears what is recommended for them.
type publisher struct {
	*natsio.Conn
	t      *testing.T
	seqs   map[string]uint64
	advice chan advice
}

type advice struct {
	queue string
	from  uint64
	telemetry.Recommendation
}

// on is the publisher of worker w9, which has told its limits.
func publisherOn(t *testing.T, url string) *publisher {
	t.Helper()
	conn := bustest.Dial(t, url)
	p := &publisher{Conn: conn, t: t, seqs: make(map[string]uint64), advice: make(chan advice, 1<<16)}
	_, err := conn.SubscribeRecommendations("w9", "*", func(_, queue string, h *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			own := *r // whose lists are valid during the call only
			own.Reasons, own.Decided = slices.Clone(r.Reasons), nil
			p.advice <- advice{queue, h.Incarnation, own}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// announce says what device the worker has, and returns when whoever decides knows.
func (p *publisher) announce() {
	p.t.Helper()
	p.answered("first", p.report("first", 0))
	h := telemetry.Header{Incarnation: 7, Seq: p.next("")}
	w := telemetry.Worker{Has: telemetry.HasWorkerMaxWorkgroupSizeX | telemetry.HasWorkerMaxWorkgroupsPerDimension | telemetry.HasWorkerMaxInvocationsPerWorkgroup,
		MaxWorkgroupSizeX: 256, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 256}
	p.send(p.Subjects().Worker("w9"), telemetry.Append(nil, telemetry.EncodingMap, h, &w))
	for a := range p.advice {
		if a.queue == "first" && a.Error == "" {
			return
		}
	}
}

func (p *publisher) next(queue string) uint64 {
	p.seqs[queue]++
	return p.seqs[queue]
}

func (p *publisher) send(subject string, payload []byte) {
	p.t.Helper()
	if err := p.PublishRequest(subject, "", payload); err != nil {
		p.t.Fatal(err)
	}
}

// report publishes the length of a queue that is new, and later the density of its frontier: each makes
// one decision.
func (p *publisher) report(queue string, density uint16) (seq uint64) {
	p.t.Helper()
	seq = p.next(queue)
	p.repeat(queue, seq, density)
	return seq
}

// repeat publishes a record, whether it was published before or not.
func (p *publisher) repeat(queue string, seq uint64, density uint16) {
	p.t.Helper()
	h := telemetry.Header{Incarnation: 7, Seq: seq}
	var body telemetry.Body = &telemetry.Graph{Has: telemetry.HasFrontierDensityBps, FrontierDensityBps: density}
	if seq == 1 {
		body = &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 1000}
	}
	p.send(p.Subjects().Telemetry("w9", queue), telemetry.Append(nil, telemetry.EncodingMap, h, body))
}

// answered waits for the decision that takes a record into account.
func (p *publisher) answered(queue string, seq uint64) telemetry.Recommendation {
	p.t.Helper()
	for patience := time.After(clientPatience); ; {
		select {
		case a := <-p.advice:
			if a.queue == queue && a.AnsweredSeq >= seq {
				return a.Recommendation
			}
		case <-patience:
			p.t.Fatalf("record %d of %s has no answer", seq, queue)
		}
	}
}

// stored is what the stream has of each queue, oldest first. It fails the test if the stream has a number
// twice, or leaves one out, or if a decision was made from less than the one before it.
func (p *publisher) stored() map[string][]*decisionlog.Decided {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), clientPatience)
	defer cancel()
	var all []storedDecision
	for attempt := 1; ; attempt++ {
		var err error
		if all, err = p.read(ctx); err == nil || errors.Is(err, natsio.ErrNoDecisions) {
			break
		}
		if !p.Pause(ctx, attempt) { // servers that elect a leader have no answer for a while
			p.t.Fatal(err)
		}
	}
	queues := make(map[string][]*decisionlog.Decided)
	last := make(map[string]uint64) // sequence
	for _, m := range all {
		before := queues[m.queue]
		if want := uint64(len(before)) + 1; m.Entry.Decision != want || m.Previous != last[m.queue] {
			p.t.Errorf("queue %s, message %d after %d: decision %d after %d, want %d after %d", m.queue, m.sequence, last[m.queue], m.Entry.Decision, m.Previous, want, last[m.queue])
		}
		if n := len(before); n > 0 && before[n-1].Entry.Records.Last > m.Entry.Records.Last {
			p.t.Errorf("queue %s, message %d is made from record %d, the one before it from %d", m.queue, m.sequence, m.Entry.Records.Last, before[n-1].Entry.Records.Last)
		}
		queues[m.queue], last[m.queue] = append(before, m.Decided), m.sequence
	}
	return queues
}

// storedDecision is a message of the stream of decisions.
type storedDecision struct {
	queue    string
	sequence uint64
	*decisionlog.Decided
}

// read reads the stream of decisions.
func (p *publisher) read(ctx context.Context) (all []storedDecision, err error) {
	err = decided.Read(ctx, p.Conn, func(m decided.Message) error {
		if m.Err != nil {
			return m.Err
		}
		d, err := decisionlog.DecodeDecided(m.Stored.Recommendation.Decided)
		all = append(all, storedDecision{m.Queue, m.Sequence, d})
		return err
	})
	return all, err
}

// Row 1 of the attacks: every record has one answer, and no two answers have one number.
func TestTwoDecidersAnswerEachRecordOnce(t *testing.T) {
	url := serverOf(t)
	decider(t, url)
	decider(t, url)
	p := publisherOn(t, url)
	p.announce()
	const records, queues = 60, 4
	for i := range records {
		for q := range queues {
			queue := fmt.Sprintf("q%d", q)
			p.answered(queue, p.report(queue, uint16(i*150)))
		}
	}
	if err := p.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	for len(p.advice) > 0 {
		a := <-p.advice
		t.Errorf("queue %s: decision %d answers record %d a second time", a.queue, a.Decision, a.AnsweredSeq)
	}
	for queue, all := range p.stored() {
		if len(all) != records && queue != "first" {
			t.Errorf("queue %s has %d decisions, want %d", queue, len(all), records)
		}
	}
}

// Row 2: eight restarts in a course of densities that keeps hysteresis busy, half of them crashes, change no decision.
func TestDecisionsAreTheSameWithRestarts(t *testing.T) {
	const records, restarts = 80, 8
	course := func(restartEvery int) (plans []telemetry.Recommendation) {
		url := serverOf(t)
		n := decider(t, url)
		p := publisherOn(t, url)
		p.announce()
		for i := range records {
			if restartEvery > 0 && i%restartEvery == restartEvery/2 {
				if i/restartEvery%2 == 0 {
					n.drained()
				} else {
					n.kill()
				}
				n = decider(t, url)
			}
			r := p.answered("q", p.report("q", uint16(1200+1000*(i%3)+170*(i%7))))
			r.AnsweredSentNs = 0
			plans = append(plans, r)
		}
		p.stored()
		return plans
	}
	want, got := course(0), course(records/restarts)
	held := 0
	for i := range want {
		if want[i].SwitchHeld {
			held++
		}
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("record %d: with restarts\n%+v, without\n%+v", i+1, got[i], want[i])
		}
	}
	if held == 0 {
		t.Error("hysteresis held nothing, so nothing could be forgotten")
	}
}

// Of three processes that decide, the one that decides for the worker is killed, stopped for a second, or drained:
// another goes on with the next numbers, and the one that wakes decides nothing twice.
func TestAnotherProcessTakesOver(t *testing.T) {
	for name, end := range map[string]func(*node){
		"killed":  func(n *node) { n.kill() },
		"drained": func(n *node) { n.drained() },
		"hung":    func(n *node) { n.stopped() },
	} {
		t.Run(name, func(t *testing.T) { takesOver(t, name, end) })
	}
}

func takesOver(t *testing.T, name string, end func(*node)) {
	url := serverOf(t)
	nodes := []*node{decider(t, url), decider(t, url), decider(t, url)}
	p := publisherOn(t, url)
	p.announce()
	const queues = 20
	round := func(density uint16) {
		t.Helper()
		seqs := make([]uint64, queues)
		for q := range seqs {
			seqs[q] = p.report(fmt.Sprintf("q%d", q), density)
		}
		for answers := make(map[string]uint64); len(answers) < queues; {
			select {
			case a := <-p.advice:
				if q, err := strconv.Atoi(a.queue[1:]); err == nil && a.AnsweredSeq == seqs[q] {
					answers[a.queue] = a.Decision
				}
			case <-time.After(clientPatience):
				t.Fatalf("%d of %d queues are decided", len(answers), queues)
			}
		}
	}
	for i := range 10 {
		round(uint16(i * 500))
	}
	owner := p.stored()["q0"][9].Node
	var ended *node
	for _, n := range nodes {
		if decisionlog.ID(n.id) == owner {
			ended = n
		}
	}
	if ended == nil {
		t.Fatalf("%x decides, which is none of the three", owner)
	}
	end(ended)
	began := time.Now()
	round(5100)
	t.Logf("%s: %d queues are decided again after %v", name, queues, time.Since(began))
	if name == "hung" {
		ended.signal(syscall.SIGCONT)
	}
	for i := range 10 {
		round(uint16(i * 700))
	}
	all := p.stored()
	for q := range queues {
		queue := fmt.Sprintf("q%d", q)
		if len(all[queue]) != 21 || all[queue][10].Node == owner {
			t.Errorf("queue %s has %d decisions, want 21; the first one afterwards is by %x, and %x had ended", queue, len(all[queue]), all[queue][10].Node, owner)
		}
	}
}
