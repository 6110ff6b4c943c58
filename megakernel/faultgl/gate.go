package faultgl

import (
	"sync"

	"ringmaster/megakernel/gpu"
)

// Gate is a device that compiles nothing while it is closed. It begins open.
type Gate struct {
	gpu.Device
	mu     sync.Mutex
	opened chan struct{} // closed when the gate is open again; nil: it is
}

// Close makes compilations wait until the function that it returns is called, once.
func (g *Gate) Close() (open func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	opened := make(chan struct{})
	g.opened = opened
	return func() { close(opened) }
}

// CompileCompute waits at the gate.
func (g *Gate) CompileCompute(source string) (gpu.Program, error) {
	g.mu.Lock()
	opened := g.opened
	g.mu.Unlock()
	if opened != nil {
		<-opened
	}
	return g.Device.CompileCompute(source)
}
