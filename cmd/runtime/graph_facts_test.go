package main

import "testing"

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
