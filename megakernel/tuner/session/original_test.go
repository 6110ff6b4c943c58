package session

import (
	"slices"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/reference"
)

// widthsOf are the widths of launches, each once, in the order in which they first ran.
func widthsOf(ran []policy.Geometry) (widths []uint32) {
	for _, g := range ran {
		if !slices.Contains(widths, g.Width) {
			widths = append(widths, g.Width)
		}
	}
	return widths
}

func TestTheOriginalSweepsEachCandidateOnceAndKeepsItsChoice(t *testing.T) {
	for _, mode := range []Mode{Reference, ReferenceOn} {
		for _, cfg := range []policy.Config{policy.Standard(), policy.Reference()} {
			r := newRig(t, mode)
			r.cfg, r.noise = cfg, 0
			r.cfg.TuneGeometry = true
			r.launch() // by the policy: nobody knows the kernel yet
			r.settled()
			// One launch each; the first, which the policy chose, may be a candidate's too.
			if got := widthsOf(r.ran[1:]); len(r.ran) > 7 || !slices.Equal(got[len(got)-5:], []uint32{64, 128, 256, 512, 1024}) && len(got) != 5 {
				t.Errorf("%v: sweeps %v in %d launches", mode, got, len(r.ran))
			}
			best, least := uint32(0), ^uint64(0)
			for _, m := range r.s.tuners[0].original.measured {
				if m.Ns < least {
					best, least = m.Workgroup[0], m.Ns
				}
			}
			r.launches(50)
			if now := r.ran[len(r.ran)-1]; now.Width != best {
				t.Errorf("%v: runs %d wide, %d was fastest", mode, now.Width, best)
			}
		}
	}
}

func TestTheOriginalsLaunchPlanIsWhatRuns(t *testing.T) {
	r := newRig(t, Reference)
	r.queue, r.noise = 1024, 0
	r.launch()
	r.settled()
	r.launches(5)
	width := r.kept(1024).Width
	grid, err := reference.InferGrid(1024, reference.Workgroup{width, 1, 1})
	if err != nil {
		t.Fatal(err)
	}
	want := policy.Geometry{Width: width, Groups: grid[0], Chunk: width}
	if got := r.ran[len(r.ran)-1]; got.Width != want.Width || got.Groups != want.Groups || got.Chunk != want.Chunk {
		t.Errorf("runs %+v, the original's plan is %+v", got, want)
	}
}

func TestTheOriginalInItsModeOffRunsTheDeclaredWidth(t *testing.T) {
	r := newRig(t, ReferenceOff)
	r.launches(20)
	if got := widthsOf(r.ran[1:]); !slices.Equal(got, []uint32{reference.DefaultWidth}) {
		t.Errorf("runs %v", got)
	}
}

func TestTheOriginalRemembersItsSelectionsAndNothingElse(t *testing.T) {
	for mode, entries := range map[Mode]int{Reference: 2, ReferenceOn: 1, ReferenceOff: 0} {
		memory := newMemory()
		r := newRig(t, mode)
		r.env.Memory, r.noise = memory, 0
		r.launch()
		r.settled()
		r.launches(10)
		r.s.Park(&r.env)
		if len(memory.entries) != entries {
			t.Errorf("%v: keeps %d entries, want %d", mode, len(memory.entries), entries)
		}
		for _, e := range memory.entries {
			if err := e.Check(); err != nil || len(e.Measurements) != 0 || e.Selected.Width == 0 {
				t.Errorf("%v: keeps %+v, %v", mode, e, err)
			}
		}
		again := newRig(t, mode)
		again.env.Memory = memory
		again.launch()
		if !again.s.tuners[0].state().settled || mode != ReferenceOff && again.kept(again.queue).Width == 0 {
			t.Errorf("%v: after a restart it has %v", mode, again.s.View())
		}
	}
}

// A file is data from outside: a width that is no candidate here is as none.
func TestTheOriginalSweepsWhereWhatIsRememberedCannotBeLaunched(t *testing.T) {
	for _, width := range []uint32{1, 48, 2048, 65_536} {
		r := newRig(t, Reference)
		r.env.Memory = selected{cache.Entry{Selected: policy.Geometry{Width: width}}}
		r.launch()
		if r.s.tuners[0].state().settled {
			t.Errorf("%d is believed", width)
		}
		r.settled()
	}
	r := newRig(t, Reference)
	r.env.Memory = told{cache.Entry{Selected: policy.Geometry{Width: 32}}}
	r.launch()
	if r.s.tuners[0].state().settled {
		t.Error("what another worker selected is believed")
	}
}

// selected is a memory of what was selected here for every key.
type selected struct{ cache.Entry }

func (m selected) Recall(_ string, key cache.Key, _ uint64) (cache.Entry, uint64, bool) {
	m.Key = key
	return m.Entry, FirstMoment, true
}

func (selected) Remember(string, cache.Entry) {}

// After a restart only the selected width has run. Where it does less than a slot in a
// microsecond, the resize rule has the next wider one run, once.
func TestTheResizeRuleHasAWidthTriedThatWasNotMeasured(t *testing.T) {
	r := newRig(t, Reference)
	r.queue, r.speed, r.noise = 1024, 100, 0
	r.env.Memory = selected{cache.Entry{Selected: policy.Geometry{Width: 256}}}
	r.launch()
	r.launches(30)
	tried := 0
	for _, g := range r.ran {
		if g.Width == 512 {
			tried++
		}
	}
	if o := r.s.tuners[0].original; tried == 0 || !o.ran(reference.Workgroup{512, 1, 1}) || o.trial != 0 && o.ran(reference.Workgroup{o.trial, 1, 1}) {
		t.Errorf("512 ran %d times, trial %d, of %v", tried, o.trial, widthsOf(r.ran))
	}
}

func TestTheSweepEndsWhereAWidthNeverRuns(t *testing.T) {
	r := newRig(t, Reference)
	r.engine = func(g policy.Geometry) policy.Geometry {
		if g.Width == 128 {
			g.Width = 64
		}
		return g
	}
	r.speed = 1000 // so that 64 launches take three seconds
	r.settled()
	if n := len(r.ran); n < missedLaunches || n > 2*missedLaunches {
		t.Errorf("ends after %d launches", n)
	}
	memory := newMemory()
	r.env.Memory = memory
	r.s.Park(&r.env)
	if len(memory.entries) != 0 {
		t.Errorf("a sweep that failed is remembered: %v", memory.entries)
	}
}

// Devices of whatever limits are served: nothing panics, and what is asked for can be launched.
func TestTheOriginalAsksForWhatADeviceCanLaunch(t *testing.T) {
	for _, l := range []policy.Limits{
		{MaxWorkgroupSizeX: 1, MaxWorkgroupsPerDimension: 1, MaxInvocationsPerWorkgroup: 1},
		{MaxWorkgroupSizeX: 16, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 16},
		{MaxWorkgroupSizeX: 32, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024},
		{MaxWorkgroupSizeX: 1 << 31, MaxWorkgroupsPerDimension: 3, MaxInvocationsPerWorkgroup: 1 << 31},
	} {
		for _, mode := range []reference.Mode{reference.Natural, reference.On, reference.Off} {
			for bucket := range Buckets {
				o := newOriginal(mode, [32]byte{1}, l, BucketSlots(bucket), "a device")
				if g := o.choice; g.Width > l.MaxWidth() || g.Groups > l.MaxWorkgroupsPerDimension {
					t.Errorf("%+v, %v: asks for %+v", l, mode, g)
				}
			}
		}
	}
}
