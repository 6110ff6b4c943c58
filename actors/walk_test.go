package actors

import (
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry"
)

// walkLevel is a walk over a graph of 10,000 nodes and 160,000 edges.
func walkLevel(seq uint64, nodes uint32, edges, unexplored uint64, answered func(DecisionInput)) Walk {
	return Walk{
		Header: telemetry.Header{Kind: telemetry.KindGraph, Incarnation: 1, Seq: seq},
		Graph: telemetry.Graph{
			Has:       telemetry.HasNodeCount | telemetry.HasEdgeCount | telemetry.HasFrontierNodes | telemetry.HasFrontierOutDegreeSum | telemetry.HasUnexploredEdges,
			NodeCount: 10_000, EdgeCount: 160_000, FrontierNodes: nodes, FrontierOutDegreeSum: edges, UnexploredEdges: unexplored,
		},
		Nodes: nodes, HitCapacity: 10_000, MaxWidth: 64, Answered: answered,
	}
}

func TestWalksAreDecidedAndAnsweredOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, newCountingPublisher())
		defer s.Close()
		must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{}))
		var got []DecisionInput
		answered := func(d DecisionInput) { got = append(got, d) }
		levels := []struct {
			nodes             uint32
			edges, unexplored uint64
			want              policy.Topology
		}{
			{1, 16, 159_984, policy.TopologySparse},
			{100, 5_000, 154_984, policy.TopologyHybrid},
			{4_000, 100_000, 54_984, policy.TopologyDense},
			{50, 200, 100, policy.TopologySparse},
			{0, 0, 0, policy.TopologyEmpty},
		}
		for i, l := range levels {
			must(t, s.Walk("gpu0", "q", walkLevel(uint64(i+1), l.nodes, l.edges, l.unexplored, answered)))
			synctest.Wait()
			if len(got) != i+1 {
				t.Fatalf("level %d: %d answers", i, len(got))
			}
			d := got[i]
			if d.Plan.Topology != l.want || d.Err != nil || d.Records.Last != uint64(i+1) || d.Decision != uint64(i+1) || d.Request.QueueLen != l.nodes {
				t.Errorf("level %d: %v, want %v: %+v", i, d.Plan.Topology, l.want, d)
			}
			if i > 0 && d.Before != got[i-1].After {
				t.Errorf("level %d is decided from %+v, the level before left %+v", i, d.Before, got[i-1].After)
			}
			if l.nodes > 0 && (d.Plan.WorkgroupSizeX > 64 || d.Plan.HitCapacity != 10_000) {
				t.Errorf("level %d: width %d and room for %d hits; asked for at most 64 and 10,000", i, d.Plan.WorkgroupSizeX, d.Plan.HitCapacity)
			}
		}
	})
}

// The copy of a walk that comes back from the bus must not be taken for another publisher's record.
func TestEchoesOfWalksAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newCountingPublisher()
		s := newSystem(t, p)
		defer s.Close()
		w := walkLevel(5, 100, 5_000, 154_984, nil)
		w.Header.Incarnation = s.cfg.Incarnation
		must(t, s.Walk("gpu0", "q", w))
		synctest.Wait()
		r := telemetry.Record{Header: w.Header, Graph: w.Graph}
		r.Header.Queue = "q"
		if err := s.Ingest("gpu0", "q", &r, time.Now(), ""); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if st := s.Stats(); st.EchoesDropped != 1 || st.Decisions != 1 {
			t.Errorf("%+v", st)
		}
	})
}

func TestWhatAWalkSaysOfTheGraphOutweighsPublishers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, newCountingPublisher())
		defer s.Close()
		must(t, s.AttachEngine("gpu0", testLimits, 0, &promptEngine{}))
		var last DecisionInput
		w := walkLevel(1, 100, 5_000, 154_984, func(d DecisionInput) { last = d })
		w.Requeued = 7
		must(t, s.Walk("gpu0", "q", w))
		synctest.Wait()
		if last.Request.RequeueCount != 7 {
			t.Errorf("%d requeues", last.Request.RequeueCount)
		}
		for seq, r := range []*telemetry.Record{graphRecord(7, 1, 5000), queueRecord(7, 2, 0)} {
			must(t, s.Ingest("gpu0", "q", r, time.Now(), ""))
			synctest.Wait()
			if last.Decision != uint64(seq+2) || last.Request.GraphNodeCount != 10_000 || last.Request.QueueLen != 100 || last.Plan.Topology != policy.TopologyHybrid {
				t.Errorf("%+v", last)
			}
		}
		must(t, s.Walk("gpu0", "q", Walk{Header: telemetry.Header{Incarnation: 1, Seq: 2}, Answered: func(d DecisionInput) { last = d }}))
		synctest.Wait()
		if last.Request.GraphNodeCount != 5000 || last.Plan.Topology != policy.TopologyEmpty {
			t.Errorf("after the job: %+v", last.Request)
		}
	})
}

// Nodes that found no room among the hits are requeued work, whoever counts them.
func TestHitsThatFoundNoRoomCountAsRequeued(t *testing.T) {
	c := new(cell)
	r := graphRecord(7, 1, 5000)
	r.Graph.Has |= telemetry.HasRequeuedHitCount
	for i, step := range []struct{ incarnation, seq, count, want uint64 }{
		{7, 1, 5, 5}, {7, 2, 9, 9}, {7, 3, 9, 9}, {7, 4, 2, 11}, // begun again
		{8, 1, 4, 15}, {8, 2, 6, 17},
	} {
		r.Header.Incarnation, r.Header.Seq, r.Graph.RequeuedHitCount = step.incarnation, step.seq, step.count
		r.Graph.TakeOver = step.incarnation == 8 && step.seq == 1
		if _, err := c.fold(r, "", 1, time.Now()); err != nil || c.requeues != step.want {
			t.Errorf("record %d: %d requeues, want %d: %v", i, c.requeues, step.want, err)
		}
	}
}

// What a graph takes of the device is not forgotten before it is gone.
func TestAQueueWithAResidentGraphIsNotForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSystem(t, newCountingPublisher())
		defer s.Close()
		rest := Walk{Graph: telemetry.Graph{Has: telemetry.HasResidentDeviceBytes, ResidentDeviceBytes: 1000}}
		must(t, s.Walk("gpu0", "q", rest))
		time.Sleep(3 * s.cfg.idleAfter) // of the bubble's clock
		synctest.Wait()
		if n := s.Stats().Queues; n != 1 {
			t.Errorf("%d queues while the graph is there", n)
		}
		rest.Graph.ResidentDeviceBytes = 0
		must(t, s.Walk("gpu0", "q", rest))
		time.Sleep(3 * s.cfg.idleAfter)
		synctest.Wait()
		if n := s.Stats().Queues; n != 0 {
			t.Errorf("%d queues after the graph is dropped", n)
		}
	})
}
