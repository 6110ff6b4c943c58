package main

import (
	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/telemetry"
)

// tunedEngine is the engine as the tuner needs it: its reports name the kernel
// whatever its geometry and say how deep the launch could be, and it says on
// what kind of device it runs.
type tunedEngine struct {
	*engine
	identities *megakernel.Identities
	identity   string
}

func newTunedEngine(e *engine, opcodes *megakernel.Catalog, device *telemetry.Worker) *tunedEngine {
	return &tunedEngine{engine: e, identities: megakernel.NewIdentities(opcodes), identity: actors.IdentityOf(device)}
}

// DeviceIdentity implements actors.Identified.
func (e *tunedEngine) DeviceIdentity() string { return e.identity }

// Launch implements actors.Engine.
func (e *tunedEngine) Launch(o actors.Order, settled func(actors.Report)) {
	e.engine.Launch(o, func(r actors.Report) {
		e.complete(&r.Launch, o.Plan.BatchDepth)
		settled(r)
	})
}

func (e *tunedEngine) complete(l *telemetry.Launch, depth uint32) {
	l.AppliedDepth = depth
	l.Has |= telemetry.HasAppliedDepth
	if k, ok := megakernel.ParseKernel(l.Kernel); ok {
		id := e.identities.Of(k)
		l.Fingerprint = id[:]
		l.Has |= telemetry.HasFingerprint
	}
}
