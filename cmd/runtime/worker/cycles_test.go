package worker

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

var cycles = flag.Int("cycles", 100, "starts and ends of a node in TestNothingStaysOfANode; make soak-cycles has 1000")

// A node that decides starts, takes over what was decided, decides and ends, again and again. Neither the
// process nor the server keeps anything of it.
func TestNothingStaysOfANode(t *testing.T) {
	server, monitor := monitored(t)
	conn := dial(t, server.URL, newLogger(io.Discard))
	answers := make(chan uint64, 1)
	if _, err := conn.SubscribeRecommendations("w", "q", func(_, _ string, _ *telemetry.Header, r *telemetry.Recommendation) {
		if !r.Heartbeat {
			answers <- r.AnsweredSeq
		}
	}); err != nil {
		t.Fatal(err)
	}
	cycle := func(seq uint64) {
		t.Helper()
		log := newLogger(io.Discard)
		n, err := Start(t.Context(), Config{NATS: bus(server.URL, "node", log), Policy: policy.Standard(), Name: "d", Log: log})
		must(t, err)
		h := telemetry.Header{Incarnation: 7, Seq: seq}
		q := telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(seq)}
		must(t, conn.PublishRequest(conn.Subjects().Telemetry("w", "q"), "", telemetry.Append(nil, telemetry.EncodingMap, h, &q)))
		if got := <-answers; got != seq {
			t.Errorf("record %d is answered, want %d", got, seq)
		}
		must(t, n.Close(t.Context()))
	}
	const warm = 20 // fills pools
	for i := range warm {
		cycle(uint64(1 + i))
	}
	before := held(t, monitor)
	for i := range *cycles {
		cycle(uint64(1 + warm + i))
	}
	var after holding
	for until := time.Now().Add(natstest.Patience); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if after = held(t, monitor); after.within(before) {
			t.Logf("%d cycles: %+v before, %+v after", *cycles, before, after)
			return
		}
	}
	t.Errorf("%d cycles leave something behind: %+v before, %+v after", *cycles, before, after)
}

// holding is what a process and its server have at a moment.
type holding struct {
	goroutines, files, heap               int
	connections, subscriptions, consumers int
}

// heapNoise is by how much the heap differs from one moment to another without a leak; it is about 16 KiB.
const heapNoise = 64 << 10

func (h holding) within(before holding) bool {
	return h.goroutines <= before.goroutines && h.files <= before.files && h.heap <= before.heap+heapNoise &&
		h.connections <= before.connections && h.subscriptions <= before.subscriptions && h.consumers <= before.consumers
}

// held counts what the process and the server have.
func held(t *testing.T, monitor string) holding {
	t.Helper()
	var server struct{ Connections, Subscriptions int }
	var streams struct{ Consumers int }
	ask(t, monitor+"/varz", &server)
	ask(t, monitor+"/jsz", &streams)
	files, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // pools keep what they have over one collection
	runtime.ReadMemStats(&m)
	return holding{runtime.NumGoroutine(), len(files), int(m.HeapAlloc), server.Connections, server.Subscriptions, streams.Consumers}
}

// ask has a server's monitor answer, over a connection that is closed behind it.
func ask(t *testing.T, url string, answer any) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := client.Get(url)
	must(t, err)
	defer r.Body.Close()
	must(t, json.NewDecoder(r.Body).Decode(answer))
}

// monitored starts a server whose monitor answers.
func monitored(t *testing.T) (server *natstest.Process, monitor string) {
	t.Helper()
	server = natstest.Start(t)
	port := natstest.ReservePort(t)
	server.Args = append(server.Args, "-m", fmt.Sprint(port))
	server.Restart()
	return server, fmt.Sprintf("http://127.0.0.1:%d", port)
}
