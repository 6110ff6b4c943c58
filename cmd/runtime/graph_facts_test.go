package main

import (
	"errors"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

func TestFactsOfOneQueueDoNotTakeThePlacesOfOthers(t *testing.T) {
	kept := func(queues string) (facts []keptFacts) {
		for _, queue := range queues {
			facts = append(facts, keptFacts{key: graphKey{queue: string(queue)}})
		}
		return facts
	}
	for queues, want := range map[string]int{"a": 0, "abb": 1, "abab": 0, "cabbb": 2, "aab": 0, "bcaaad": 2} {
		if got := oldestFacts(kept(queues)); got != want {
			t.Errorf("%s: %d is dropped, want %d", queues, got, want)
		}
	}
}

// A run that is told to come again later finds its facts when it does.
func TestFactsOfARunThatFindsTheWorkerBusyStay(t *testing.T) {
	key := graphKey{"q", "g"}
	pair, err := graph.Build(graph.Edges{Nodes: 2, From: []uint32{0}, To: []uint32{1}}, graph.Options{Directed: true})
	if err != nil {
		t.Fatal(err)
	}
	s := newGraphStore(&graphStore{})
	s.graphs[key] = &storedGraph{pair: pair}
	s.facts = []keptFacts{{key: key, number: 7}}
	s.runs = make([]*graphRunning, maxGraphRuns)
	for i := range s.runs {
		s.runs[i] = &graphRunning{key: graphKey{"other", "g"}}
	}
	err = s.run(t.Context(), key, &telemetry.Resident{Algorithm: "flow", Facts: 7})
	if !errors.Is(err, natsio.ErrGraphBusy) || len(s.facts) != 1 {
		t.Errorf("%v; %d of 1 facts are left", err, len(s.facts))
	}
}
