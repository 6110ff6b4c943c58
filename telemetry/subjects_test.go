package telemetry

import (
	"strings"
	"testing"
)

func TestSubjectsParseBack(t *testing.T) {
	for _, s := range []Subjects{{}, {Prefix: "site-7.gpu.v1"}} {
		prefix := s.Prefix
		if prefix == "" {
			prefix = "ringmaster.v1"
		}
		for _, c := range []struct {
			subject, want string
			class         SubjectClass
			worker, queue string
		}{
			{s.Telemetry("w1", "q_1"), ".telemetry.w1.q_1", SubjectTelemetry, "w1", "q_1"},
			{s.Telemetry("w1", BatchQueue), ".telemetry.w1._batch", SubjectTelemetry, "w1", "_batch"},
			{s.Worker("w1"), ".worker.w1", SubjectWorker, "w1", ""},
			{s.Recommend("w1", "q"), ".recommend.w1.q", SubjectRecommend, "w1", "q"},
			{s.Work("w1", "q"), ".work.w1.q", SubjectWork, "w1", "q"},
			{s.Done("w1", "q"), ".done.w1.q", SubjectDone, "w1", "q"},
			{s.Rejected("w1", "q"), ".rejected.w1.q", SubjectRejected, "w1", "q"},
			{s.Rejected("invalid", "q"), ".rejected.invalid.q", SubjectRejected, "invalid", "q"},
			{s.RejectedInvalid(), ".rejected.invalid", SubjectRejectedInvalid, "", ""},
			{s.Snapshot("w1", "q"), ".snapshot.w1.q", SubjectSnapshot, "w1", "q"},
			{s.Heap("w1", "q"), ".heap.w1.q", SubjectHeap, "w1", "q"},
			{s.Graph("w1", "q"), ".graph.w1.q", SubjectGraph, "w1", "q"},
			{s.Cancel("w1", "q"), ".cancel.w1.q", SubjectCancel, "w1", "q"},
			{s.Decided("w1", "q"), ".decided.w1.q", SubjectDecided, "w1", "q"},
		} {
			if c.subject != prefix+c.want {
				t.Errorf("got subject %s, want %s", c.subject, prefix+c.want)
			}
			class, worker, queue, err := s.Parse(c.subject)
			if err != nil || class != c.class || worker != c.worker || queue != c.queue {
				t.Errorf("%s: got %v %q %q %v", c.subject, class, worker, queue, err)
			}
		}
	}
}

func TestParseRefusesForeignSubjects(t *testing.T) {
	long := strings.Repeat("a", 65)
	for subject, reason := range map[string]string{
		"":                                   ReasonBadSubject,
		"ringmaster":                         ReasonBadSubject,
		"ringmaster.v1":                      ReasonBadSubject,
		"ringmaster.v1.":                     ReasonBadSubject,
		"ringmaster.v2.telemetry.w.q":        ReasonBadSubject,
		"ringmaster.v10.telemetry.w.q":       ReasonBadSubject,
		"ringmaster.v1.other.w.q":            ReasonBadSubject,
		"ringmaster.v1.invalid.w.q":          ReasonBadSubject,
		"ringmaster.v1.telemetry":            ReasonBadSubject,
		"ringmaster.v1.telemetry.w":          ReasonBadSubject,
		"ringmaster.v1.worker.w.q":           ReasonBadSubject,
		"ringmaster.v1.rejected.other":       ReasonBadSubject,
		"ringmaster.v1.telemetry.w.q.x":      ReasonBadToken,
		"ringmaster.v1.telemetry..q":         ReasonBadToken,
		"ringmaster.v1.telemetry.w.":         ReasonBadToken,
		"ringmaster.v1.telemetry.*.q":        ReasonBadToken,
		"ringmaster.v1.telemetry.w.>":        ReasonBadToken,
		"ringmaster.v1.telemetry.w." + long:  ReasonBadToken,
		"ringmaster.v1.telemetry." + long:    ReasonBadSubject,
		"ringmaster.v1.telemetry.w.q\x00":    ReasonBadToken,
		"ringmaster.v1.telemetry.w.qu\u00e9": ReasonBadToken,
		"ringmaster.v1.work.w._batch":        ReasonBadToken,
		"ringmaster.v1.recommend.w._batch":   ReasonBadToken,
	} {
		class, worker, queue, err := Subjects{}.Parse(subject)
		if ReasonOf(err) != reason || class != SubjectInvalid || worker != "" || queue != "" {
			t.Errorf("%q: got %v %q %q %v, want reason %s", subject, class, worker, queue, err, reason)
		}
	}
}

func TestParseAllocatesNothing(t *testing.T) {
	good, bad := Subjects{}.Telemetry("worker-1", "queue-1"), "ringmaster.v1.telemetry.w.*"
	if n := testing.AllocsPerRun(100, func() {
		_, _, _, _ = Subjects{}.Parse(good)
		_, _, _, _ = Subjects{}.Parse(bad)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestTokensAndPrefixes(t *testing.T) {
	ok, long := strings.Repeat("Z", 64), strings.Repeat("Z", 65)
	for s, want := range map[string]bool{
		"a": true, "A-z_09": true, "_batch": true, ok: true,
		"": false, long: false, "a.b": false, "a b": false, "*": false, ">": false, "$SYS": false, "é": false, "a\n": false,
	} {
		if ValidToken(s) != want {
			t.Errorf("ValidToken(%q) is %t", s, !want)
		}
	}
	for s, want := range map[string]bool{
		"ringmaster.v1": true, "v1": true, "a.b.c.d": true, ok + "." + ok[1:]: true,
		"": false, ".v1": false, "v1.": false, "a..b": false, "a.*": false, "a.>": false, ok + "." + ok: false,
	} {
		if ValidPrefix(s) != want {
			t.Errorf("ValidPrefix(%q) is %t", s, !want)
		}
	}
	if !ValidPrefix(DefaultPrefix) {
		t.Error("the default prefix is not valid")
	}
}

func TestEverySubjectClassCarriesItsKinds(t *testing.T) {
	want := map[SubjectClass][]Kind{
		SubjectTelemetry: {KindQueue, KindGraph, KindPriority, KindLaunch},
		SubjectWorker:    {KindWorker}, SubjectRecommend: {KindRecommendation}, SubjectSnapshot: {KindRecommendation},
		SubjectWork: {KindWork}, SubjectDone: {KindDone},
		SubjectRejected: {KindRejected}, SubjectRejectedInvalid: {KindRejected},
		SubjectHeap: {KindHeap}, SubjectGraph: {KindGraphRequest}, SubjectCancel: {KindCancel}, SubjectDecided: {KindRecommendation},
	}
	for c := SubjectInvalid; c <= lastClass; c++ {
		carried := make(map[Kind]bool)
		for _, k := range want[c] {
			carried[k] = true
		}
		for k := KindInvalid; k <= lastKind; k++ {
			if c.Carries(k) != carried[k] {
				t.Errorf("class %v carries %v: %t", c, k, c.Carries(k))
			}
		}
	}
}

func TestIncarnationsAreRandomAndNeverZero(t *testing.T) {
	seen := make(map[uint64]bool)
	for range 1000 {
		n := NewIncarnation()
		if n == 0 || seen[n] {
			t.Fatalf("incarnation %d is zero or drawn twice", n)
		}
		seen[n] = true
	}
}

func TestNamesOfEnumerations(t *testing.T) {
	for got, want := range map[string]string{
		KindRecommendation.String(): "recommendation", Kind(77).String(): "kind(77)", KindInvalid.String(): "kind(0)",
		LaunchFailed.String(): "failed", LaunchStatus(9).String(): "status(9)",
		TimeWall.String(): "wall", TimeSource(9).String(): "source(9)",
		SubjectRejectedInvalid.String(): "rejected.invalid", SubjectClass(99).String(): "class(99)",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAPoolStandsWhereAWorkerDoes(t *testing.T) {
	var s Subjects
	for _, class := range []func(worker, queue string) string{s.Work, s.Done, s.Rejected, s.Cancel} {
		subject := class(Pool("gpus"), "q")
		_, taker, queue, err := s.Parse(subject)
		pool, is := PoolOf(taker)
		if err != nil || !is || pool != "gpus" || queue != "q" {
			t.Errorf("%s is of %q, queue %q, %v", subject, taker, queue, err)
		}
	}
	for _, subject := range []string{
		"ringmaster.v1.work.pool.q", "ringmaster.v1.work.pool.a.b.c", "ringmaster.v1.work.pool..q", "ringmaster.v1.work.pool.a.", "ringmaster.v1.work.pool.a b.q",
		"ringmaster.v1.work.gpu0.a.b", "ringmaster.v1.telemetry.pool.gpus.q", "ringmaster.v1.heap.pool.gpus.q", "ringmaster.v1.recommend.pool.gpus.q",
	} {
		if _, taker, queue, err := s.Parse(subject); err == nil {
			t.Errorf("%s is of %q, queue %q", subject, taker, queue)
		}
	}
	for name, want := range map[string]bool{"gpu0": true, "pool.gpus": true, "pool": false, "pool.": false, "pool.a.b": false, "pools.a": false, "": false} {
		if ValidTaker(name) != want {
			t.Errorf("%q takes batches: %v", name, !want)
		}
	}
}
