package main

import (
	"errors"
	"fmt"
	"time"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/megakernel/tuner/workload"
	"ringmaster/ring"
)

// errWorkload says that a workload cannot be tuned for.
var errWorkload = errors.New("tune: this workload cannot be tuned for")

// tuneLoad is a workload as slots of a catalog.
type tuneLoad struct {
	name   string
	slots  []ring.Slot
	window []uint32
}

// newTuneLoad makes slots of a description.
func newTuneLoad(w *workload.Workload, set *opcodeSet) (*tuneLoad, error) {
	if err := w.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", errWorkload, err)
	}
	numbers := make(map[string]megakernel.Opcode)
	for _, p := range w.Parts {
		op, _, found := set.lookup(p.Opcode)
		if !found {
			return nil, fmt.Errorf("%w: there is no opcode %s; there are %s", errWorkload, p.Opcode, set.names())
		}
		numbers[p.Opcode] = op
	}
	l := &tuneLoad{name: w.Name, slots: make([]ring.Slot, w.Slots), window: w.Words()}
	w.Each(func(i int, p *workload.Part, args [workload.MaxOperands]uint32) {
		l.slots[i] = ring.Slot{Opcode: uint32(numbers[p.Opcode]), Priority: ring.PriorityNormal, Args: args}
	})
	return l, nil
}

// tuneRing is the ring of this machine's device with a workload on it.
type tuneRing struct {
	stand    *megakernel.Stand
	limits   policy.Limits
	software bool
	load     *tuneLoad
	space    *live.Space
	start    live.Geometry         // that a model expects to be fast
	bucket   int                   // of the workload's size
	clock    megakernel.TimeSource // of the last launch
	last     time.Time             // its end
}

// newTuneRing makes a ring with room for the given slots and window. The caller closes its
// stand.
func newTuneRing(device *glcompute.Device, catalog *megakernel.Catalog, slots, window int) (*tuneRing, error) {
	stand, err := megakernel.NewStand(device, megakernel.StandConfig{Catalog: catalog, Slots: slots, WindowWords: window})
	if err != nil {
		return nil, err
	}
	return &tuneRing{stand: stand, limits: limitsOf(device), software: device.Info().Software}, nil
}

// limitsOf are the limits of a device as a queue's tuner knows them.
func limitsOf(device glDevice) policy.Limits {
	limits := policy.Limits{SubgroupSize: device.Info().Capabilities.SubgroupSize}
	limits.MaxWorkgroupSizeX, limits.MaxWorkgroupsPerDimension, limits.MaxInvocationsPerWorkgroup = device.WorkgroupLimits()
	return limits
}

// put puts a workload on the ring and lists the geometries that it can run at.
func (r *tuneRing) put(l *tuneLoad) error {
	if err := r.stand.Load(l.slots, l.window); err != nil {
		return fmt.Errorf("%w: %w", errWorkload, err)
	}
	// The geometries that a worker's tuner chooses from, of those that drain the
	// whole workload: an engine would leave the rest to the next launch.
	standard := policy.Standard()
	bucket := session.BucketOf(uint32(len(l.slots)))
	all, err := session.NewSpaces(&standard).Of(r.limits, bucket)
	if err != nil {
		return fmt.Errorf("%w: %w", errWorkload, err)
	}
	space, err := live.NewSpace(live.Workload{
		Limits: r.limits, Slots: session.BucketSlots(bucket),
		Legal: func(g live.Geometry) bool {
			_, known := all.Find(g)
			return known && r.stand.Fits(engineGeometry(g), g.Depth)
		},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", errWorkload, err)
	}
	if space.Len() == 0 {
		return fmt.Errorf("%w: no geometry drains its %d slots within the device's limits and the loop budget of a dispatch; use fewer slots or shorter ones", errWorkload, len(l.slots))
	}
	r.load, r.space, r.bucket = l, space, bucket
	r.start = live.New(live.Config{Space: space}).Next().Geometry
	return nil
}

// warmSpan is how long a GPU is kept busy before it is measured.
const warmSpan = 300 * time.Millisecond

// warm builds the kernels of all widths and then brings a GPU to its full clock.
func (r *tuneRing) warm() error {
	built := make(map[uint32]bool)
	for i := range r.space.Len() {
		if w := r.space.At(i).Width; !built[w] {
			built[w] = true
			if err := r.stand.Build(w); err != nil {
				return err
			}
		}
	}
	span := warmSpan
	if r.software {
		span = 0
	}
	return r.stand.Warm(engineGeometry(r.start), r.start.Depth, span)
}

func engineGeometry(g live.Geometry) megakernel.Geometry {
	return megakernel.Geometry{Width: g.Width, Groups: g.Groups, Chunk: g.Chunk}
}

// A GPU that was idle for idleGap runs the next launches slower, by a fifth if they are
// short. So it is woken before a launch, as the launches of a busy ring would do.
const (
	idleGap  = 200 * time.Microsecond
	wakeSpan = 300 * time.Microsecond
)

// launch drains the workload once.
func (r *tuneRing) launch(g live.Geometry) (live.Report, error) {
	if !r.software && time.Since(r.last) > idleGap {
		if err := r.stand.Warm(engineGeometry(r.start), r.start.Depth, wakeSpan); err != nil {
			return live.Report{}, err
		}
	}
	report, err := r.stand.Launch(engineGeometry(g), g.Depth)
	r.last = time.Now()
	if errors.Is(err, megakernel.ErrStand) {
		err = fmt.Errorf("%w: %w", errWorkload, err)
	}
	r.clock = report.TimeSource
	return live.Report{Geometry: g, Slots: uint32(len(r.load.slots)), Ns: report.Ns, WallNs: report.WallNs}, err
}

// newRun is a run on this ring's workload, with a budget.
func (r *tuneRing) newRun(launches int, span time.Duration) *tuneRun {
	return &tuneRun{space: r.space, launch: r.launch, warm: r.warm, launches: launches, span: span, now: time.Now}
}
