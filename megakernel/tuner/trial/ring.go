package trial

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/harness"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/megakernel/tuner/workload"
	"ringmaster/ring"
)

// ErrWorkload says that a workload cannot be tuned for.
var ErrWorkload = errors.New("this workload cannot be tuned for")

// Load is a workload as slots of a catalog.
type Load struct {
	Name   string
	Slots  []ring.Slot
	Window []uint32 // its first words; the rest of the ring's window is not looked at
}

// NewLoad makes slots of a description. Its error wraps ErrWorkload.
func NewLoad(w *workload.Workload, catalog *kernel.Catalog) (*Load, error) {
	if err := w.Check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	numbers := make(map[string]kernel.Opcode)
	for _, p := range w.Parts {
		op, found := catalog.Lookup(p.Opcode)
		if !found {
			return nil, fmt.Errorf("%w: there is no opcode %s; there are %s", ErrWorkload, p.Opcode, names(catalog))
		}
		numbers[p.Opcode] = op
	}
	l := &Load{Name: w.Name, Slots: make([]ring.Slot, w.Slots), Window: w.Words()}
	w.Each(func(i int, p *workload.Part, args [workload.MaxOperands]uint32) {
		l.Slots[i] = ring.Slot{Opcode: uint32(numbers[p.Opcode]), Priority: ring.PriorityNormal, Args: args}
	})
	return l, nil
}

// names are the names of a catalog's opcodes, for messages.
func names(catalog *kernel.Catalog) string {
	var names []string
	for _, op := range catalog.All().Opcodes() {
		names = append(names, catalog.Name(op))
	}
	return strings.Join(names, ", ")
}

// RingConfig sizes a ring.
type RingConfig struct {
	Catalog  *kernel.Catalog // nil: the built-in opcodes
	Slots    int             // most slots of a load
	Window   int             // words
	Limits   policy.Limits   // of the device, as a queue's tuner knows them
	Software bool            // the device is a software renderer: it has no clocks that fall
}

// Ring is the ring of a device with a workload on it.
type Ring struct {
	RingConfig
	Load   *Load
	Space  *live.Space    // the geometries that the load can run at
	Bucket int            // of the load's size
	Clock  gpu.TimeSource // of the last launch

	stand *harness.Harness
	start policy.Geometry // that a model expects to be fast
	last  time.Time       // end of the last launch
}

// NewRing makes a ring without a load.
func NewRing(device gpu.Device, cfg RingConfig) (*Ring, error) {
	stand, err := harness.New(device, harness.Config{Catalog: cfg.Catalog, Slots: cfg.Slots, WindowWords: cfg.Window})
	if err != nil {
		return nil, err
	}
	return &Ring{RingConfig: cfg, stand: stand}, nil
}

// Close frees the ring.
func (r *Ring) Close() error { return r.stand.Close() }

// Fits reports whether a launch drains the whole load at exactly this geometry.
func (r *Ring) Fits(g policy.Geometry) bool { return r.stand.Fits(g) }

// Put puts a load on the ring and lists the geometries that it can run at.
func (r *Ring) Put(l *Load) error {
	if err := r.stand.Load(l.Slots, l.Window); err != nil {
		return fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	// The geometries that a worker's tuner chooses from, of those that drain the
	// whole workload: an engine would leave the rest to the next launch.
	standard := policy.Standard()
	bucket := session.BucketOf(uint32(len(l.Slots)))
	all, err := session.NewSpaces(&standard).Of(r.Limits, bucket)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	space, err := live.NewSpace(live.Workload{
		Limits: r.Limits, Slots: session.BucketSlots(bucket),
		Legal: func(g policy.Geometry) bool {
			_, known := all.Find(g)
			return known && r.Fits(g)
		},
	})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	if space.Len() == 0 {
		return fmt.Errorf("%w: no geometry drains its %d slots within the device's limits and the loop budget of a dispatch; use fewer slots or shorter ones", ErrWorkload, len(l.Slots))
	}
	r.Load, r.Space, r.Bucket = l, space, bucket
	r.start = live.New(live.Config{Space: space}).Next().Geometry
	return nil
}

// warmSpan is how long a GPU is kept busy before it is measured.
const warmSpan = 300 * time.Millisecond

// Warm builds the kernels of all widths and then brings a GPU to its full clock.
func (r *Ring) Warm() error {
	built := make(map[uint32]bool)
	for i := range r.Space.Len() {
		if w := r.Space.At(i).Width; !built[w] {
			built[w] = true
			if _, err := r.stand.Build(w); err != nil {
				return err
			}
		}
	}
	span := warmSpan
	if r.Software {
		span = 0
	}
	return r.stand.Warm(r.start, span)
}

// A GPU that was idle for idleGap runs the next launches slower, by a fifth if they are
// short. So it is woken before a launch, as the launches of a busy ring would do.
const (
	idleGap  = 200 * time.Microsecond
	wakeSpan = 300 * time.Microsecond
)

// Launch drains the workload once.
func (r *Ring) Launch(g policy.Geometry) (live.Report, error) {
	if !r.Software && time.Since(r.last) > idleGap {
		if err := r.stand.Warm(r.start, wakeSpan); err != nil {
			return live.Report{}, err
		}
	}
	report, err := r.stand.Launch(g)
	r.last = time.Now()
	if errors.Is(err, harness.ErrLoad) {
		err = fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	r.Clock = report.TimeSource
	return live.Report{Geometry: g, Slots: uint32(len(r.Load.Slots)), Ns: report.Ns, WallNs: report.WallNs}, err
}

// NewRun is a run on this ring's load. A budget of 0 launches, or of no time, is no bound.
func (r *Ring) NewRun(launches int, span time.Duration) *Run {
	return &Run{Space: r.Space, Launch: r.Launch, Warm: r.Warm, Launches: launches, Span: span, Now: time.Now}
}
