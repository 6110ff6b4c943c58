package actors

import (
	"testing"
	"testing/synctest"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

type nullPublisher struct {
	recommended chan telemetry.Recommendation
}

func (p *nullPublisher) Recommend(_, _ string, r *telemetry.Recommendation, _ []string) {
	p.recommended <- *r
}
func (p *nullPublisher) Report(_, _ string, _ *telemetry.Launch)               {}
func (p *nullPublisher) Done(_, _ string, _ *telemetry.Done, sent func(error)) { sent(nil) }

func TestQueueRecordIsAnsweredByRecommendation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := DefaultConfig()
		cfg.Incarnation = 99
		pub := &nullPublisher{make(chan telemetry.Recommendation, 16)}
		s, err := New(cfg, pub)
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		w := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindWorker, Incarnation: 5, Seq: 1}, Worker: telemetry.Worker{
			Has: 7, MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65535, MaxInvocationsPerWorkgroup: 1024}}
		if err := s.Announce("gpu0", &w); err != nil {
			t.Fatal(err)
		}
		r := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 7, Seq: 1}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: 300}}
		if err := s.Ingest("gpu0", "q", &r, ""); err != nil {
			t.Fatal(err)
		}
		got := <-pub.recommended
		if got.Decision != 1 || got.Error != "" || got.QueueLen != 300 || got.Topology != policy.TopologySparse.String() {
			t.Fatalf("recommendation %+v", got)
		}
	})
}
