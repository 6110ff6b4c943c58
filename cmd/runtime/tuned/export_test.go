package tuned

// Loaded is closed when the file of a kind of device here was read.
func (m *Memory) Loaded(device string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.places[place{kind: device}].file.Loaded()
}

// Len is the number of entries of the file of a kind of device here.
func (m *Memory) Len(device string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.places[place{kind: device}].file.Len()
}

// Read waits for the files of all places. It says how many there are and how many entries they have.
func (m *Memory) Read() (places, entries int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.places {
		<-p.file.Loaded()
		entries += p.file.Len()
	}
	return len(m.places), entries
}
