package tuned

// Loaded is closed when the file of a kind of device here was read.
func (m *Memory) Loaded(device string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.devices[place{kind: device}].file.Loaded()
}

// Len is the number of entries of the file of a kind of device here.
func (m *Memory) Len(device string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.devices[place{kind: device}].file.Len()
}
