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
	if run := s.runs[queue]; run != nil {
		run.untold = true
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
// and those that runs still walk after they were dropped or replaced. Called with mu held.
func (s *Store) used() uint64 {
	used := s.loading
	for _, g := range s.graphs {
		used += g.pair.Bytes()
	}
	for _, run := range s.runs {
		if run.graph != nil && !s.walked(run.key) {
			used += run.graph.pair.Bytes()
		}
	}
	return used
}

// running is the memory that the runs under way may take beside their graphs. Called with mu held.
func (s *Store) running() (bytes uint64) {
	for _, run := range s.runs {
		bytes += run.room
	}
	return bytes
}

// left is what the budget leaves beside all graphs, 0 if there is no budget. Called with mu held.
func (s *Store) left() uint64 {
	if s.Budget == 0 {
		return 0
	}
	used := s.used()
	return max(s.Budget, used+1) - used
}

// leftBeside is what the budget leaves for a run beside all graphs and the other runs, 0 if there is
// no budget. Called with mu held.
func (s *Store) leftBeside(me *running) uint64 {
	left, others := s.left(), s.running()-me.room
	if left == 0 {
		return 0
	}
	return max(left, others+1) - others
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
