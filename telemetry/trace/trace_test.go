package trace

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ringmaster/telemetry"
)

const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

func TestParse(t *testing.T) {
	c, ok := Parse(parent)
	if !ok || c.String() != parent {
		t.Errorf("%v, %t", c, ok)
	}
	for text, want := range map[string]bool{
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03":      true, // a flag of later versions
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what": true,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00":      false, // not sampled
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-what": false,
		"cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01what":  false,
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      false,
		"00-0AF7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01":      false,
		"00-00000000000000000000000000000000-b7ad6b7169203331-01":      false,
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01":      false,
		"00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333--01":      false,
		"00-0af7651916cd43dd8448eb211c80319cb-7ad6b7169203331-01":      false,
		"": false,
	} {
		if _, ok := Parse(text); ok != want {
			t.Errorf("%q: %t", text, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(parent)
	f.Fuzz(func(t *testing.T, text string) {
		c, ok := Parse(text)
		if again, same := Parse(c.String()); ok && (!same || again != c) {
			t.Errorf("%q is %v, which is read as %v", text, c, again)
		}
	})
}

// followed is a Book and its spans.
func followed() (*Book, *[]Span) {
	var spans []Span
	return NewBook(func(s Span) { spans = append(spans, s) }), &spans
}

func TestARecordIsFollowedToItsFirstLaunch(t *testing.T) {
	b, spans := followed()
	from, _ := Parse(parent)
	at := time.Now().Add(-time.Second)
	b.Heard("w", "q", &telemetry.Header{Incarnation: 7, Seq: 3}, parent, at)
	for _, r := range []telemetry.Recommendation{
		{Decision: 8, AnsweredIncarnation: 7, AnsweredSeq: 2}, // of an older record
		{Decision: 8, AnsweredIncarnation: 9, AnsweredSeq: 3},
		{Decision: 8, AnsweredIncarnation: 7, AnsweredSeq: 3, Heartbeat: true},
	} {
		if got := b.Decided("w", "q", &r).Traceparent(); got != "" {
			t.Errorf("%+v is traced: %s", r, got)
		}
	}
	b.Decided("w", "q", &telemetry.Recommendation{Decision: 8, AnsweredIncarnation: 7, AnsweredSeq: 3}) // which the stream refuses
	decision := b.Decided("w", "q", &telemetry.Recommendation{Decision: 9, AnsweredIncarnation: 7, AnsweredSeq: 4, Error: "no plan"})
	decision.Counts()
	next, ok := Parse(decision.Traceparent())
	if !ok || next.Trace != from.Trace || next.Span == from.Span {
		t.Fatalf("%v after %v", next, from)
	}
	if got := b.Decided("w", "q", &telemetry.Recommendation{Decision: 10, AnsweredIncarnation: 7, AnsweredSeq: 4}); got != nil {
		t.Error("a record is answered twice")
	}
	b.Launched("w", "q", &telemetry.Launch{Launch: 1, Decision: 8})
	b.Launched("w", "q", &telemetry.Launch{Launch: 2, Decision: 9, WallNs: 5e6, ElapsedNs: 1e6})
	b.Launched("w", "q", &telemetry.Launch{Launch: 3, Decision: 9})
	if len(*spans) != 2 || !b.empty() {
		t.Fatalf("%d spans: %+v", len(*spans), *spans)
	}
	decide, launch := (*spans)[0], (*spans)[1]
	if decide.Name != "decide" || decide.Context != next || decide.Parent != from.Span || !decide.Start.Equal(at) || decide.Error != "no plan" {
		t.Errorf("%+v", decide)
	}
	if launch.Name != "launch" || launch.Trace != from.Trace || launch.Parent != next.Span || launch.End.Sub(launch.Start) != 5*time.Millisecond {
		t.Errorf("%+v", launch)
	}
}

func TestABatchIsFollowedToItsEnd(t *testing.T) {
	b, spans := followed()
	stored := time.Now().Add(-time.Second)
	batch := b.Taken("w", "q", "b1", parent, stored)
	own, ok := Parse(b.Done("w", "q", "b1"))
	if !ok || b.Done("w", "q", "b2") != "" {
		t.Error("the done record of the batch is not traced, or that of another is")
	}
	batch.End("refused", errors.New("why"))
	if len(*spans) != 3 || !b.empty() || b.Done("w", "q", "b1") != "" {
		t.Fatalf("%+v", *spans)
	}
	whole, wait, execute := (*spans)[0], (*spans)[1], (*spans)[2]
	if whole.Name != "batch" || whole.Context != own || !whole.Start.Equal(stored) || whole.Error != "why" {
		t.Errorf("%+v", whole)
	}
	if wait.Parent != own.Span || execute.Parent != own.Span || !wait.End.Equal(execute.Start) || !execute.End.Equal(whole.End) || wait.Span == execute.Span {
		t.Errorf("%+v, %+v", wait, execute)
	}
}

func TestWhatIsFollowedIsBounded(t *testing.T) {
	b, _ := followed()
	for i := range 2 * maxKept {
		b.Heard("w", fmt.Sprint(i), &telemetry.Header{Incarnation: 7, Seq: 1}, parent, time.Now())
		b.Taken("w", "q", fmt.Sprint(i), parent, time.Now())
	}
	if n := b.kept.Load(); n != 2*maxKept || len(b.heard) != maxKept || len(b.batches) != maxKept {
		t.Errorf("%d are kept, %d and %d", n, len(b.heard), len(b.batches))
	}
	// What nobody ends, such as a record that was refused, takes no place from what comes later.
	newest := telemetry.Recommendation{Decision: 1, AnsweredIncarnation: 7, AnsweredSeq: 1}
	if b.Decided("w", fmt.Sprint(2*maxKept-1), &newest) == nil || b.Done("w", "q", fmt.Sprint(2*maxKept-1)) == "" {
		t.Error("the newest are not followed")
	}
}

func TestNothingIsFollowedWithoutABook(t *testing.T) {
	var b *Book
	b.Heard("w", "q", &telemetry.Header{}, parent, time.Now())
	b.Launched("w", "q", &telemetry.Launch{})
	b.Taken("w", "q", "b", parent, time.Now()).End("done", nil)
	if b.Decided("w", "q", &telemetry.Recommendation{}).Traceparent() != "" || b.Done("w", "q", "b") != "" {
		t.Error("something is traced")
	}
	if n := testing.AllocsPerRun(100, func() { b.Decided("w", "q", &telemetry.Recommendation{}) }); n != 0 {
		t.Errorf("%v allocations where nothing is followed", n)
	}
}

// BenchmarkFollow is what a record and its decision cost beside everything else.
func BenchmarkFollow(b *testing.B) {
	for _, c := range []struct {
		name  string
		book  *Book
		every int // so many records have one that is traced
	}{{"off", nil, 100}, {"sampled1in100", NewBook(func(Span) {}), 100}, {"all", NewBook(func(Span) {}), 1}} {
		b.Run(c.name, func(b *testing.B) {
			h, r, at := telemetry.Header{Incarnation: 7}, telemetry.Recommendation{AnsweredIncarnation: 7}, time.Now()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				h.Seq, r.AnsweredSeq = uint64(i), uint64(i)
				if i%c.every == 0 {
					c.book.Heard("worker", "queue", &h, parent, at)
				}
				c.book.Decided("worker", "queue", &r).Counts()
			}
		})
	}
}
