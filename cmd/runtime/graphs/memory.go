package graphs

// tell reports to the queue how much device memory its graphs take.
func (s *Store) tell(queue string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inform(queue)
}

// inform is tell with mu held. While a run of the queue is under way, the run reports; the
// memory of the graphs is reported when it ends.
func (s *Store) inform(queue string) {
	if s.run != nil && s.run.key.queue == queue {
		s.run.untold = true
		return
	}
	s.advisor.rest(queue, s.rest(queue))
}

// rest is the memory of a queue's graphs, including the buffers that the last job left for
// the next one. Called with mu held.
func (s *Store) rest(queue string) Memory {
	m := s.memory(queue, s.left())
	for key, g := range s.graphs {
		if key.queue == queue {
			m.resident += g.kept
		}
	}
	return m
}

// used is the memory of all graphs: those that can be found, the one that is being loaded,
// and one that a run still walks after it was dropped or replaced. Called with mu held.
func (s *Store) used() uint64 {
	used := s.loading
	for _, g := range s.graphs {
		used += g.pair.Bytes()
	}
	if s.run != nil && !s.walked(s.run.key) {
		used += s.run.graph.pair.Bytes()
	}
	return used
}

// running is the memory that the current run may take beside its graph. Called with mu held.
func (s *Store) running() uint64 {
	if s.run == nil {
		return 0
	}
	return s.run.room
}

// left is what the budget leaves beside all graphs, 0 if there is no budget. Called with mu held.
func (s *Store) left() uint64 {
	if s.Budget == 0 {
		return 0
	}
	used := s.used()
	return max(s.Budget, used+1) - used
}

// memory is the memory of a queue's graphs, and the bound for graphs and jobs together if left
// bytes remain for jobs; 0 is no bound. Called with mu held.
func (s *Store) memory(queue string, left uint64) Memory {
	m := Memory{}
	for key, g := range s.graphs {
		if key.queue == queue {
			m.resident += g.pair.Bytes()
		}
	}
	if left > 0 {
		m.budget = m.resident + left
	}
	return m
}
