package main

import (
	"context"
	"fmt"
	"io"
	"slices"

	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Bounds of the facts that wait on a worker for their runs.
const (
	maxKeptFacts    = 8
	maxKeptFactRows = maxGraphFile / 20 // of all; a row has 20 bytes on its way
)

// keptFacts wait for their run.
type keptFacts struct {
	key    graphKey
	number uint64
	rows   []graph.FactRow
}

// takeFacts keeps a part of a dataflow problem's facts. After the last part it keeps the
// whole for the run that will use it.
func (s *graphStore) takeFacts(ctx context.Context, key graphKey, r *telemetry.Resident) error {
	if _, err := s.find(key); err != nil {
		return err
	}
	file, done, err := s.part(ctx, uploadKey{key, "facts"}, r)
	r.Data = r.Data[:0]
	if file == nil {
		return err
	}
	defer done()
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	rows, err := graph.ParseFactRows(data)
	if err != nil {
		return fmt.Errorf("%w: %w", natsio.ErrGraphRequest, err)
	}
	s.update(func() {
		s.results++
		s.facts = append(s.facts, keptFacts{key, s.results, rows})
		for len(s.facts) > maxKeptFacts || factRows(s.facts) > maxKeptFactRows {
			at := oldestFacts(s.facts)
			s.facts = slices.Delete(s.facts, at, at+1)
		}
		r.Facts = s.results
	})
	return nil
}

func factRows(facts []keptFacts) (n int) {
	for i := range facts {
		n += len(facts[i].rows)
	}
	return n
}

// oldestFacts is the index of the oldest facts of the queue that has the most of them, so
// that one queue does not displace the others.
func oldestFacts(facts []keptFacts) (oldest int) {
	of := make(map[string]int)
	for i := range facts {
		of[facts[i].key.queue]++
	}
	for i := range facts {
		if of[facts[i].key.queue] > of[facts[oldest].key.queue] {
			oldest = i
		}
	}
	return oldest
}

// factsOf removes and returns the facts of a number, for a run.
func (s *graphStore) factsOf(key graphKey, number uint64) ([]graph.FactRow, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.IndexFunc(s.facts, func(f keptFacts) bool { return f.key == key && f.number == number })
	if at < 0 {
		return nil, fmt.Errorf("%w: there are no facts %d for graph %s; a run takes its facts away, and a worker keeps %d; send them again", natsio.ErrNoGraph, number, key.name, maxKeptFacts)
	}
	rows := s.facts[at].rows
	s.facts = slices.Delete(s.facts, at, at+1)
	return rows, nil
}
