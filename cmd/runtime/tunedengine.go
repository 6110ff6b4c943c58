package main

import (
	"ringmaster/actors"
	"ringmaster/megakernel"
	"ringmaster/telemetry"
)

// tunedEngine is an engine whose reports have what the tuner needs: a name of the kernel that
// does not depend on its geometry, and how deep the launch could be. It also identifies its
// kind of device.
type tunedEngine struct {
	*engine
	identities *megakernel.Identities
	identity   string
}

func newTunedEngine(e *engine, opcodes *megakernel.Catalog, device *telemetry.Worker) *tunedEngine {
	return &tunedEngine{engine: e, identities: megakernel.NewIdentities(opcodes), identity: actors.IdentityOf(device)}
}

// DeviceIdentity implements actors.Engine.
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
