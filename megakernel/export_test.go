package megakernel

import "ringmaster/megakernel/lease"

// What tests ask the engine and nobody else does.

// LeaseSupport is what the self-test of the engine's lease found, or lease.ErrUnavailable.
func (e *Engine) LeaseSupport() (lease.Support, error) {
	e.deviceMu.Lock()
	defer e.deviceMu.Unlock()
	if e.exec.lease.resident == nil {
		return lease.Support{}, lease.ErrUnavailable
	}
	return e.exec.lease.resident.Support(), nil
}

// LeaseStats are the counts of the engine's lease, zero without one.
func (e *Engine) LeaseStats() lease.Stats {
	e.deviceMu.Lock()
	defer e.deviceMu.Unlock()
	if e.exec.lease.resident == nil {
		return lease.Stats{}
	}
	return e.exec.lease.resident.Stats()
}

// Settled reports whether a launch's report can be taken.
func (e *Engine) Settled(t Ticket) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	f, err := e.flight(t)
	return err == nil && f.settled
}
