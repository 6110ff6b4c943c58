//go:build cgo

package tuned_test

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/tuned"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/session"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
)

const tunedBatch = 1000 // slots

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) { os.Exit(glcompute.Main(m.Run)) }

// tunedRun is a runtime on a real device whose one queue gets batch after batch.
type tunedRun struct {
	t       *testing.T
	n       *worker.Node
	memory  *tuned.Memory
	device  string // its kind
	batches int
	applied chan telemetry.Launch
}

// startTunedRun starts a runtime whose queue keeps its kernel: what is remembered is of one kernel,
// and which one takes less time here is not the test's business.
func startTunedRun(t *testing.T, dir string) *tunedRun {
	t.Helper()
	standard := policy.Standard()
	standard.ByCost = false
	r := startRun(t, dir, session.On, standard, slog.New(slog.DiscardHandler))
	<-r.memory.Loaded(r.device)
	return r
}

// startRun starts a runtime that tunes by a mode.
func startRun(t *testing.T, dir string, mode session.Mode, decides policy.Config, log *slog.Logger) *tunedRun {
	t.Helper()
	r := &tunedRun{t: t, applied: make(chan telemetry.Launch, 1<<16)}
	device := gltest.Open(t)
	announced := worker.Announcement(device, nil)
	r.device = actors.IdentityOf(&announced)
	bus := bustest.Config(bustest.Server(t).URL())
	bus.Name, bus.Logger = "runtime", log
	r.memory = tuned.New(tuned.Config{Dir: dir, Log: log})
	cfg := worker.Config{NATS: bus, Policy: decides, Name: "w1", Log: log, Device: device, Autotuner: mode, Memory: r.memory}
	var err error
	if r.n, err = worker.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := r.n.Conn().SubscribeLaunches("w1", "q", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) { r.applied <- *l }); err != nil {
		t.Fatal(err)
	}
	if err := r.n.Conn().Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

// batch runs one more batch to its end.
func (r *tunedRun) batch() {
	r.t.Helper()
	r.batches++
	w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: fmt.Sprint("b", r.batches), Slots: make([]telemetry.Slot, tunedBatch)}
	for i := range w.Slots {
		w.Slots[i] = telemetry.Slot{Opcode: uint32(kernel.OpAdd), Priority: 2, Args: [12]uint32{1, uint32(i)}}
	}
	settled := make(chan error, 1)
	r.n.System().Submit("w1", "w1", "q", &w, 0, func(_ telemetry.Outcome, err error) { settled <- err })
	if err := <-settled; err != nil {
		r.t.Fatal(err)
	}
}

func (r *tunedRun) recommended() policy.Geometry {
	r.t.Helper()
	rec, ok := r.n.System().Latest("w1", "q")
	if !ok {
		r.t.Fatal("no recommendation")
	}
	return policy.Geometry{Width: rec.WorkgroupSizeX, Groups: rec.Groups, Chunk: rec.ClaimChunk}
}

// ran runs batches until a launch at a geometry is reported, and gives its report.
func (r *tunedRun) ran(is func(telemetry.Geometry) bool) telemetry.Launch {
	r.t.Helper()
	for range 2000 {
		r.batch()
		for len(r.applied) > 0 {
			if l := <-r.applied; is(l.Applied) {
				return l
			}
		}
	}
	r.t.Fatal("no such launch")
	return telemetry.Launch{}
}

func (r *tunedRun) close() {
	r.t.Helper()
	if err := r.n.Close(r.t.Context()); err != nil {
		r.t.Error(err)
	}
}

// other is a geometry of the launches of a batch beside the one that ran, with the same kernel.
func (r *tunedRun) other(ran *telemetry.Launch) policy.Geometry {
	r.t.Helper()
	standard := policy.Standard()
	bucket := session.BucketOf(tunedBatch)
	space, err := session.NewSpaces(&standard).Of(megakernel.LimitsOf(gltest.Open(r.t)), bucket)
	if err != nil {
		r.t.Fatal(err)
	}
	for c := range space.Len() {
		g := space.At(c)
		if g.Width == ran.Applied.WorkgroupSizeX && g.Chunk == g.Width && g.Depth == session.BucketSlots(bucket) && g.Groups > 1 && g.Groups != ran.Applied.Groups {
			return g
		}
	}
	r.t.Fatalf("no other geometry than %+v", ran.Applied)
	return policy.Geometry{}
}

// What is remembered of this device is recommended and applied, also where the file is read after the
// first launches, and nothing else is tried out for a queue that has one batch at a time.
func TestRunRecommendsAndAppliesWhatIsRemembered(t *testing.T) {
	dir := t.TempDir()
	r := startTunedRun(t, dir)
	own := r.ran(func(telemetry.Geometry) bool { return true })
	chosen := r.other(&own)
	is := func(g telemetry.Geometry) bool { return g == actors.WireGeometry(chosen) }
	program := session.Program{ID: [32]byte(own.Fingerprint), Source: uint8(own.TimeSource), Mode: session.On}
	key := session.Key(program, session.BucketOf(tunedBatch), megakernel.LimitsOf(gltest.Open(t)), r.device)
	r.memory.Remember(r.device, cache.Entry{Key: key, Selected: chosen, Measurements: []cache.Measurement{{Geometry: chosen, Count: 3, Mean: 100, M2: 1}}})
	for range 100 {
		r.batch()
	}
	for len(r.applied) > 0 {
		if l := <-r.applied; l.Applied != own.Applied && !is(l.Applied) {
			t.Errorf("ran %+v", l.Applied)
		}
	}
	r.ran(is)
	rec, _ := r.n.System().Latest("w1", "q")
	if !tunedReason(&rec) {
		t.Errorf("the recommendation %+v does not say that it is tuned: %+v", r.recommended(), rec.Reasons)
	}
	if n := r.n.System().Stats().ReportsUntuned; n != 0 {
		t.Logf("%d reports refused", n)
	}
	r.close()
	files, err := filepath.Glob(filepath.Join(dir, "*.toml"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	if data, err := os.ReadFile(files[0]); err != nil || len(data) == 0 {
		t.Fatal(err)
	}

	again := startTunedRun(t, dir) // another bus: the file alone knows
	for n := 0; ; n++ {            // the first report that is believed tells which kernel it is; on a busy machine some are not
		again.batch()
		if rec, _ = again.n.System().Latest("w1", "q"); tunedReason(&rec) {
			break
		}
		if n == 50 {
			t.Fatalf("a restart begins with %+v, untuned", again.recommended())
		}
	}
	again.close()
}

// tunedReason says whether a recommendation says that it is tuned.
func tunedReason(rec *telemetry.Recommendation) bool {
	return slices.ContainsFunc(rec.Reasons, func(why telemetry.Reason) bool { return why.Rule == policy.RuleTuned.String() })
}
