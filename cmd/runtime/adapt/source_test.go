package adapt

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmihailenco/msgpack/v5"

	"ringmaster/cmd/runtime/adapt/fpm"
	"ringmaster/cmd/runtime/adapt/zmtp"
	"ringmaster/telemetry"
)

// engine is a PUB socket that accepts one subscription at a time.
type engine struct {
	conns chan net.Conn // that were dialled
	log   strings.Builder
	told  []string // what was reported
}

func (e *engine) dial(ctx context.Context, _ string) (*zmtp.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case e.conns <- theirs:
		return zmtp.Subscribe(ours)
	default:
		return nil, errors.New("nobody listens")
	}
}

// start runs a source against the engine until the test's bubble is done with it.
func (e *engine) start(worker string) (stop func() Totals) {
	e.conns = make(chan net.Conn, 1)
	s := &Source{Endpoint: "tcp://e:1", Worker: worker, Silent: 5 * time.Second, Log: slog.New(slog.NewTextHandler(&e.log, nil)), dial: e.dial}
	s.Report = func(worker, queue string, q *telemetry.Queue) error {
		e.told = append(e.told, fmt.Sprintf("%s.%s=%d", worker, queue, q.QueueLen))
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan Totals, 1)
	go func() { ended <- s.Run(ctx) }()
	return func() Totals { cancel(); return <-ended }
}

// accept shakes hands on the next subscription.
func (e *engine) accept(t *testing.T) net.Conn {
	t.Helper()
	conn := <-e.conns
	go io.Copy(io.Discard, conn)
	greeting := make([]byte, 64)
	greeting[0], greeting[9], greeting[10] = 0xff, 0x7f, 3
	copy(greeting[12:], "NULL")
	if _, err := conn.Write(append(greeting, "\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB"...)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// send sends a message of an engine whose iteration took so long.
func send(t *testing.T, conn net.Conn, number uint64, seconds float64, prefill, decode int) {
	t.Helper()
	counts := map[string]any{"num_prefill_requests": prefill, "num_decode_requests": decode}
	payload, err := msgpack.Marshal(map[string]any{"worker_id": "gpu0", "dp_rank": 0, "wall_time": seconds,
		"scheduled_requests": counts, "queued_requests": counts})
	if err != nil {
		t.Fatal(err)
	}
	message := append([]byte{1, 0, 1, 8}, binary.BigEndian.AppendUint64(nil, number)...)
	message = append(append(message, 0, byte(len(payload))), payload...)
	if _, err := conn.Write(message); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

func TestIterationsAreReportedAndHeartbeatsAreNot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e engine
		stop := e.start("")
		conn := e.accept(t)
		send(t, conn, 0, 0, 0, 0)
		send(t, conn, 1, 0.02, 7, 2)
		for i := range 10 {
			time.Sleep(time.Second)
			send(t, conn, uint64(2+i), 0, 0, 0)
		}
		send(t, conn, 12, 0.02, 0, 0)
		got := stop()
		if want := "[gpu0.dp0-prefill=7 gpu0.dp0-decode=2 gpu0.dp0-prefill=0 gpu0.dp0-decode=0]"; fmt.Sprint(e.told) != want {
			t.Errorf("reported %v, want %s", e.told, want)
		}
		if got.Iterations != 2 || got.Heartbeats != 11 || got.Lost+got.Restarts+got.Refused+got.Silences+got.Ends != 0 {
			t.Errorf("%+v", got)
		}
		if n := strings.Count(e.log.String(), "it hangs, or gave them up"); n != 1 || !strings.Contains(e.log.String(), "since=5s prefill=7 decode=2") {
			t.Errorf("said %d times that it hangs: %s", n, e.log.String())
		}
	})
}

// An engine that waits with an empty queue is idle, and nobody is woken for it.
func TestIdleEngineIsNotSaidToHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e engine
		stop := e.start("w")
		conn := e.accept(t)
		send(t, conn, 0, 0.02, 0, 0)
		for i := range 20 {
			time.Sleep(time.Second)
			send(t, conn, uint64(1+i), 0, 0, 0)
		}
		stop()
		if strings.Contains(e.log.String(), "hangs") || strings.Join(e.told, " ") != "w.dp0-prefill=0 w.dp0-decode=0" {
			t.Errorf("%v; %s", e.told, e.log.String())
		}
	})
}

func TestSilentKilledAndRestartedEnginesAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e engine
		stop := e.start("w")
		conn := e.accept(t)
		send(t, conn, 5, 0.02, 1, 0)
		time.Sleep(6 * time.Second) // not even a heartbeat: stopped
		conn = e.accept(t)
		send(t, conn, 9, 0.02, 2, 0) // three messages were lost meanwhile
		conn.Close()                 // killed
		conn = e.accept(t)
		send(t, conn, 0, 0.02, 3, 0) // started again
		e.conns <- nil               // nobody listens any more
		conn.Close()
		time.Sleep(time.Minute)
		got := stop()
		if got.Iterations != 3 || got.Silences != 1 || got.Lost != 3 || got.Restarts != 1 || got.Ends != 2 || got.Failures < 20 || got.Failures > 40 {
			t.Errorf("%+v", got)
		}
		for _, want := range []string{"an engine is silent", "an engine has gone", "an engine has started again", "an engine cannot be reached"} {
			if n := strings.Count(e.log.String(), want); n < 1 || n > 2 {
				t.Errorf("%q is said %d times: %s", want, n, e.log.String())
			}
		}
	})
}

func TestEngineWithoutAUsableNameNeedsOne(t *testing.T) {
	var log strings.Builder
	s := Source{Endpoint: "tcp://e:1", Log: slog.New(slog.NewTextHandler(&log, nil))}
	for _, id := range []string{"10.0.0.7:30000", ""} {
		if err := s.report(&fpm.Metrics{WorkerID: id}); err == nil || !strings.Contains(err.Error(), "NAME=tcp://e:1") {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestSourcesAreNamedAndPlaced(t *testing.T) {
	for text, want := range map[string]string{
		"tcp://h:1": " tcp://h:1", "w=tcp://h:1": "w tcp://h:1", "w=ipc:///run/x": "w ipc:///run/x",
		"w.x=tcp://h:1": "!", "=tcp://h:1": "!", "w=h:1": "!", "": "!",
	} {
		worker, endpoint, err := parseSource(text)
		if got := worker + " " + endpoint; err == nil && got != want || (err != nil) != (want == "!") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}
