package natsio

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"ringmaster/telemetry"
)

func launchRecord(n uint64, queue string) []byte {
	h := telemetry.Header{Incarnation: 7, Seq: n, SentNs: 1, Queue: queue}
	return telemetry.Append(nil, telemetry.EncodingArray, h, launchReportOf(n))
}

func TestLaunchSubscriptionPicksLaunchReportsAndNamesTheirQueues(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	seen := make(chan string, 10)
	s, err := c.SubscribeLaunches("gpu0", "*", func(worker, queue string, h *telemetry.Header, l *telemetry.Launch) {
		seen <- fmt.Sprint(worker, " ", queue, " ", h.Seq, " ", l.Launch, " ", l.OpcodeCounts)
	})
	must(t, err)
	flush(t, c)
	must(t, publishTelemetry(c, "gpu0", "a", slices.Concat(queueRecord(1, ""), launchRecord(1, ""), priorityRecord(), launchRecord(2, ""))))
	must(t, publishTelemetry(c, "gpu0", "a", []byte("hello")))
	must(t, publishTelemetry(c, "gpu1", "a", launchRecord(9, "")))
	must(t, publishTelemetry(c, "gpu0", telemetry.BatchQueue, slices.Concat(launchRecord(3, "b"), launchRecord(4, "c"))))
	for _, want := range []string{"gpu0 a 1 1 [1 1]", "gpu0 a 2 2 [1 2]", "gpu0 b 3 3 [1 3]", "gpu0 c 4 4 [1 4]"} {
		if got := receive(t, seen); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	must(t, s.Stop(testContext(t)))
	if n := len(seen); n != 0 {
		t.Errorf("%d more launches, want none of another worker", n)
	}
	if _, err := c.SubscribeLaunches("gpu0", "a.b", nil); !errors.Is(err, ErrBadName) {
		t.Errorf("bad name: %v, want ErrBadName", err)
	}
}

// One bad record must not hide those behind it.
func TestLaunchSubscriptionSkipsABadRecord(t *testing.T) {
	c := dial(t, fastConfig(newServer(t).URL()))
	seen := make(chan uint64, 10)
	_, err := c.SubscribeLaunches("gpu0", "a", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) { seen <- l.Launch })
	must(t, err)
	flush(t, c)
	must(t, publishTelemetry(c, "gpu0", "a", slices.Concat(launchRecord(1, ""), badRecord(), launchRecord(2, ""))))
	for _, want := range []uint64{1, 2} {
		if got := receive(t, seen); got != want {
			t.Errorf("launch %d, want %d", got, want)
		}
	}
}

// The other connection's message leaves at once; the subscription must not be on its way still.
func TestASubscriptionSeesWhatOthersPublishFromThenOn(t *testing.T) {
	url := newServer(t).URL()
	c, other := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	for i := range 200 {
		queue := fmt.Sprint("q", i)
		got := 0
		s, err := c.SubscribeDone("w", queue, func(string, string, *telemetry.Header, *telemetry.Done) { got++ })
		must(t, err)
		done := telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 1, Seq: 1}, &telemetry.Done{Batch: "b"})
		must(t, other.publish(c.Subjects().Done("w", queue), done))
		flush(t, other)
		must(t, s.Stop(t.Context()))
		if got != 1 {
			t.Fatalf("subscription %d got %d messages, want 1", i, got)
		}
	}
}

func launchReportOf(n uint64) *telemetry.Launch {
	return &telemetry.Launch{Has: telemetry.HasAllLaunch &^ telemetry.HasError, Launch: n,
		OpcodeCounts: []uint32{1, uint32(n)}, Fingerprint: make([]byte, telemetry.FingerprintSize)}
}
