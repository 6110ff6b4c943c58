package client

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

var errLost = errors.New("lost")

// TestWhatWasReportedArrives plays reports, writes, failures and losses in any order. Whatever was written and not
// lost is what a receiver has; in the end it has the newest of every queue, and every launch report in order but those
// that a loss took with it or that were dropped.
func TestWhatWasReportedArrives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOutbox(false)
		session, clock, launch := uint64(1), int64(0), uint64(0)
		newest, received := map[string]uint32{}, map[string]uint32{}
		var launches []uint64 // that were received
		receive := func(due []*report) {
			for _, r := range due {
				switch body := r.body.(type) {
				case *telemetry.Launch:
					launches = append(launches, body.Launch)
				case *telemetry.Queue:
					received[r.queue] = body.QueueLen
				}
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"report": func(t *rapid.T) {
				queue, n := fmt.Sprint("q", rapid.IntRange(0, 3).Draw(t, "queue")), rapid.Uint32Range(0, 9).Draw(t, "length")
				clock++
				must(t, o.put(key{"w", queue, telemetry.KindQueue}, queue, clock, length(n)))
				newest[queue] = n
			},
			"launch": func(t *rapid.T) {
				launch++
				must(t, o.put(key{"w", "q0", telemetry.KindLaunch}, "q0", clock, launchReport(launch)))
			},
			"write": func(t *rapid.T) {
				due := o.take(session)
				fails := rapid.IntRange(0, len(due)).Draw(t, "written before a failure")
				receive(due[:fails])
				if fails < len(due) {
					o.wrote(slices.Clone(due[fails:]), 1, errLost)
				}
			},
			"loss": func(*rapid.T) { // what was written last did not arrive
				clear(received)
				session++
			},
			"": func(t *rapid.T) {
				if !slices.IsSorted(launches) || len(slices.Compact(slices.Clone(launches))) != len(launches) {
					t.Fatalf("launch reports came as %v", launches)
				}
			},
		})
		receive(o.take(session))
		for queue, n := range newest {
			if got, ok := received[queue]; !ok || got != n {
				t.Fatalf("%s: the receiver has %d (%v), want %d", queue, got, ok, n)
			}
		}
		if len(launches) != int(launch) {
			t.Fatalf("%d of %d launch reports were written", len(launches), launch)
		}
		if again := o.take(session); len(again) != 0 {
			t.Fatalf("%d records are due without a report", len(again))
		}
	})
}

func TestAnOutboxIsBounded(t *testing.T) {
	o := newOutbox(false)
	for i := range maxKept {
		must(t, o.put(key{"w", fmt.Sprint("q", i), telemetry.KindQueue}, "s", 1, length(1)))
	}
	if err := o.put(key{"w", "more", telemetry.KindQueue}, "s", 1, length(1)); !errors.Is(err, natsio.ErrBacklog) {
		t.Errorf("%v, want ErrBacklog", err)
	}
	if err := o.put(key{"w", "q0", telemetry.KindQueue}, "s", 1, length(2)); err != nil { // it is kept already
		t.Error(err)
	}
	for i := range uint64(maxLaunches) {
		must(t, o.put(key{"w", "q0", telemetry.KindLaunch}, "s", 1, launchReport(1+i)))
	}
	taken := slices.DeleteFunc(o.take(1), func(r *report) bool { return r.kind != telemetry.KindLaunch })
	must(t, o.put(key{"w", "q0", telemetry.KindLaunch}, "s", 1, launchReport(maxLaunches+1)))
	o.wrote(taken, 1, errLost)
	oldest := o.launches[0].body.(*telemetry.Launch).Launch
	if n := len(o.launches); n != maxLaunches || oldest != 2 || o.stats.Dropped != 1 {
		t.Errorf("%d launch reports wait from %d on, %d dropped", n, oldest, o.stats.Dropped)
	}
}

func TestAPayloadIsOfOneSubjectAndBounded(t *testing.T) {
	due := make([]*report, 600)
	for i := range due {
		due[i] = &report{subject: fmt.Sprint(i / 400)}
	}
	var sizes []int
	for rest := due; len(rest) > 0; {
		bytes, n := payload(nil, rest, 64<<10, func(b []byte, _ *report) []byte { return append(b, make([]byte, 100)...) })
		if len(bytes) != 100*n {
			t.Fatalf("%d bytes of %d records", len(bytes), n)
		}
		sizes, rest = append(sizes, n), rest[n:]
	}
	if want := []int{256, 144, 200}; !slices.Equal(sizes, want) {
		t.Errorf("payloads of %v records, want %v", sizes, want)
	}
	if _, n := payload(nil, due, 5000, func(b []byte, _ *report) []byte { return append(b, make([]byte, 500)...) }); n != 2 {
		t.Errorf("%d records of 500 bytes where one more could exceed the limit, want 2", n)
	}
	if _, n := payload(nil, due, 10, func(b []byte, _ *report) []byte { return append(b, make([]byte, 500)...) }); n != 1 {
		t.Errorf("%d records at a limit below one, want that one, which the server refuses", n)
	}
}
