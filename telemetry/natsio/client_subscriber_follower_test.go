package natsio

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"ringmaster/telemetry"
)

// heard is one recommendation and where it came from.
type heard struct {
	snapshot         bool
	incarnation, seq uint64
	sent             int64
	decision         uint64
}

func (f *follower) hear(m heard, now time.Time) (Update, bool) {
	h := telemetry.Header{Incarnation: m.incarnation, Seq: m.seq, SentNs: m.sent}
	r := telemetry.Recommendation{Decision: m.decision, ValidForMs: 3000}
	if m.snapshot {
		return f.snapshot(&h, &r, now)
	}
	return f.live(&h, &r, now)
}

func TestFollowerReportsEachDecisionOnceAndNothingOlder(t *testing.T) {
	const ignored = -1
	type step struct {
		heard
		missed int // or ignored
		later  time.Duration
	}
	live := func(seq uint64, sent int64, decision uint64, missed int) step {
		return step{heard: heard{false, 1, seq, sent, decision}, missed: missed}
	}
	snap := func(sent int64, decision uint64, missed int) step {
		return step{heard: heard{true, 1, 1, sent, decision}, missed: missed}
	}
	other := func(s step, incarnation uint64, later time.Duration) step {
		s.incarnation, s.later = incarnation, later
		return s
	}
	for name, steps := range map[string][]step{
		"in order":                          {live(4, 10, 7, 0), live(5, 11, 8, 0), live(6, 12, 9, 0)},
		"heartbeats change nothing":         {live(1, 10, 7, 0), live(2, 11, 7, ignored), live(3, 12, 8, 0)},
		"missed decisions are counted":      {live(1, 10, 7, 0), live(4, 11, 10, 2)},
		"repeated message":                  {live(5, 10, 7, 0), live(5, 10, 7, ignored), live(4, 9, 6, ignored)},
		"what the snapshot knows":           {snap(20, 7, 0), live(3, 18, 5, ignored), live(4, 19, 6, ignored), live(5, 20, 7, ignored), live(6, 21, 8, 0)},
		"snapshot's own decision comes too": {snap(20, 7, 0), live(5, 25, 7, ignored), live(6, 26, 8, 0)},
		"snapshot after a gap":              {live(1, 10, 7, 0), snap(20, 9, 1), live(3, 19, 9, ignored), live(4, 21, 10, 0)},
		"late snapshot":                     {live(1, 10, 7, 0), snap(20, 6, ignored), live(2, 21, 8, 0)},
		"queue that began again":            {snap(20, 700, 0), live(9, 30, 1, 0), live(10, 31, 2, 0)},
		"runtime that began again":          {live(9, 30, 700, 0), other(live(1, 5, 1, 0), 2, 0), other(live(2, 6, 2, 0), 2, 0)},
		"runtime that ends late":            {live(9, 30, 700, 0), other(live(1, 5, 1, 0), 2, 0), live(10, 31, 701, ignored), snap(32, 702, ignored)},
		"runtime that outlived its heir":    {live(9, 30, 700, 0), other(live(1, 5, 1, 0), 2, 0), other(live(10, 31, 701, 0), 1, 3*time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			var f follower
			now := time.Unix(1, 0)
			for i, s := range steps {
				now = now.Add(s.later)
				u, ok := f.hear(s.heard, now)
				if want := s.missed != ignored; ok != want {
					t.Fatalf("step %d: reported %v, want %v", i, ok, want)
				}
				if ok && (u.Event != EventDecision || u.Recommendation.Decision != s.decision || u.Missed != uint64(s.missed)) {
					t.Errorf("step %d: %v of decision %d, missed %d", i, u.Event, u.Recommendation.Decision, u.Missed)
				}
			}
		})
	}
}

// A runtime makes decisions and repeats them; a client that loses and repeats
// messages and gets snapshots at any moment sees the numbers rise, and the
// missed ones add up.
func TestFollowerNeverRewinds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f follower
		now := time.Unix(1, 0)
		decision, seq, clock := uint64(1), uint64(0), int64(0)
		var past []heard
		var first, last, missed, reported uint64
		take := func(m heard) {
			u, ok := f.hear(m, now)
			if !ok {
				return
			}
			if u.Recommendation.Decision <= last {
				t.Fatalf("decision %d after %d", u.Recommendation.Decision, last)
			}
			if first == 0 {
				first = u.Recommendation.Decision
			}
			last = u.Recommendation.Decision
			missed += u.Missed
			reported++
			if missed+reported != last-first+1 {
				t.Fatalf("%d missed and %d reported of %d..%d", missed, reported, first, last)
			}
		}
		send := func() heard {
			seq++
			clock++
			m := heard{false, 1, seq, clock, decision}
			past = append(past, m)
			return m
		}
		t.Repeat(map[string]func(*rapid.T){
			"decide":    func(*rapid.T) { decision++; take(send()) },
			"lose":      func(*rapid.T) { decision++; send() },
			"heartbeat": func(*rapid.T) { take(send()) },
			"snapshot": func(*rapid.T) {
				clock++
				take(heard{true, 1, 1, clock, decision})
			},
			"repeat": func(t *rapid.T) {
				if len(past) > 0 && f.seq > 0 { // a subject's messages do not overtake each other
					m := past[rapid.IntRange(0, len(past)-1).Draw(t, "message")]
					if m.seq <= f.seq {
						take(m)
					}
				}
			},
		})
		if f.known && f.latest.Recommendation.Decision != last {
			t.Fatalf("latest is %d, reported was %d", f.latest.Recommendation.Decision, last)
		}
	})
}

func TestAdviceExpiresAndIsRenewed(t *testing.T) {
	var f follower
	now := time.Unix(1, 0)
	f.hear(heard{false, 1, 1, 1, 7}, now)
	if _, ok := f.expire(now.Add(2999 * time.Millisecond)); ok || !f.latest.Usable() {
		t.Error("expired before its time")
	}
	f.hear(heard{false, 1, 2, 2, 7}, now.Add(2*time.Second))
	if _, ok := f.expire(now.Add(4999 * time.Millisecond)); ok {
		t.Error("the heartbeat did not renew the advice")
	}
	u, ok := f.expire(now.Add(5 * time.Second))
	if !ok || u.Event != EventExpired || u.Valid || u.Usable() || u.Recommendation.Decision != 7 {
		t.Errorf("expiry reported %v, %+v", ok, u)
	}
	if _, ok := f.expire(now.Add(6 * time.Second)); ok {
		t.Error("expired twice")
	}
	u, ok = f.hear(heard{false, 1, 3, 3, 7}, now.Add(7*time.Second))
	if !ok || u.Event != EventRenewed || !u.Valid {
		t.Errorf("renewal reported %v, %+v", ok, u)
	}
}

func TestAdviceWithAnErrorIsNotUsable(t *testing.T) {
	var f follower
	u, ok := f.live(&telemetry.Header{Incarnation: 1, Seq: 1}, &telemetry.Recommendation{Decision: 1, Error: "no limits", ValidForMs: 3000}, time.Unix(1, 0))
	if !ok || !u.Valid || u.Usable() {
		t.Errorf("reported %v, %+v, want valid and not usable", ok, u)
	}
}

func TestUpdatesThatAreNotFetchedAreCountedAsMissed(t *testing.T) {
	for limit, want := range map[int][]Update{
		1: {{Event: EventDecision, Missed: 3}},
		2: {{Event: EventExpired, Missed: 3}, {Event: EventDecision}},
		3: {{Event: EventDecision, Missed: 2}, {Event: EventExpired}, {Event: EventDecision}},
	} {
		q := updates{limit: limit}
		q.put(Update{Event: EventDecision, Missed: 1})
		q.put(Update{Event: EventDecision})
		q.put(Update{Event: EventExpired})
		q.put(Update{Event: EventDecision})
		for i, w := range want {
			if u, ok := q.take(); !ok || u.Event != w.Event || u.Missed != w.Missed {
				t.Errorf("limit %d, update %d: %v missed %d, want %v missed %d", limit, i, u.Event, u.Missed, w.Event, w.Missed)
			}
		}
		if _, ok := q.take(); ok {
			t.Errorf("limit %d: more than %d updates", limit, len(want))
		}
	}
}
