package session

import (
	"encoding/hex"
	"errors"
	"slices"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/tuner/cache"
	"ringmaster/megakernel/tuner/live"
	"ringmaster/megakernel/tuner/reference"
	"ringmaster/ring"
)

// original chooses a geometry as the original would if somebody called its parts in a row. First its tuner
// sweeps the candidates, a launch each, and its mode takes one of them: that is the declared width. From then
// on its launch plan chooses among that width, what was recorded, what an earlier process selected, and
// estimates. In its natural mode every launch is recorded, and a width that its resize rule asks for is run
// once if it has not been measured yet. The arithmetic is all in package reference.
//
// The original knows a launch by its number of elements. Here that is the bound of the tuner's bucket, to which
// times are scaled, because hardly two launches of a ring have one number of slots.
type original struct {
	launch     reference.Program // the ring's kernel on so many slots, and what is known of it
	id         [32]byte
	device     string
	candidates []reference.Workgroup
	measured   []reference.Measurement // of this process, the first of each width
	swept      bool                    // the declared width is the sweep's, this process's or an earlier one's
	settled    bool                    // no sweep goes on
	missed     int                     // launches in a row that did not run the sweep's width
	missedNs   uint64
	feedback   reference.Feedback
	resize     reference.Resize
	trial      uint32 // width to run whatever the launch plan says: the sweep's or the resize rule's; 0: none
	choice     policy.Geometry
}

// A width of the sweep in whose place the engine runs another one is given up after so many
// launches and missedNs.
const missedLaunches = 64

var (
	errNotMeasured = errors.New("not measured yet")
	errNotRun      = errors.New("the engine does not run it")
)

func newOriginal(mode reference.Mode, id [32]byte, l policy.Limits, elements uint32, device string) *original {
	most, groups := l.MaxWidth(), l.MaxWorkgroupsPerDimension
	o := &original{id: id, device: device, settled: mode == reference.Off, resize: reference.DefaultResize()}
	o.resize.MaxWidth = min(o.resize.MaxWidth, most)
	for _, w := range reference.Candidates(most) {
		o.candidates = append(o.candidates, reference.Workgroup{w, 1, 1})
	}
	o.launch = reference.Program{
		Declared: reference.Workgroup{min(reference.DefaultWidth, most), 1, 1},
		// The kernel claims slots with atomics and gives the same results at every width.
		Bindings: []reference.Binding{{Role: reference.RoleInputOutput, Elements: elements, Alignment: ring.SlotBytes}}, HasAtomic: true,
		Limits: reference.Limits{
			MaxThreads: l.MaxInvocationsPerWorkgroup, MaxBlock: reference.Workgroup{l.MaxWorkgroupSizeX, 1, 1}, MaxGrid: [3]uint32{groups, groups, groups},
		},
		Mode: mode,
	}
	o.choose()
	return o
}

// observe folds in a launch and chooses again. One at a width that is no candidate teaches nothing.
func (o *original) observe(r *live.Report) error {
	if err := r.Check(); err != nil {
		return err
	}
	w := reference.Workgroup{r.Geometry.Width, 1, 1}
	if !o.settled {
		o.missed, o.missedNs = o.missed+1, o.missedNs+r.WallNs
		if w[0] == o.trial {
			o.missed, o.missedNs = 0, 0
		}
	}
	if slices.Contains(o.candidates, w) {
		ns := max(r.Ns*uint64(o.launch.Bindings[0].Elements)/uint64(r.Slots), 1)
		if !o.ran(w) {
			o.measured = append(o.measured, reference.Measurement{Workgroup: w, Ns: ns})
		}
		o.feedback.Accept(&o.launch, w, ns)
		o.launch.Measured = o.feedback.Measured()
		if o.settled {
			o.trial = o.resized(w, r)
		}
	}
	o.choose()
	return nil
}

// ran reports whether this process has measured a width.
func (o *original) ran(w reference.Workgroup) bool {
	return slices.ContainsFunc(o.measured, func(m reference.Measurement) bool { return m.Workgroup == w })
}

// resized is the width that the resize rule asks for after a launch, 0 if it asks for none that has to be
// tried. Only the natural mode records what a trial would tell.
func (o *original) resized(w reference.Workgroup, r *live.Report) uint32 {
	idleNs := r.WallNs - min(r.Ns, r.WallNs)
	next, changed := o.resize.Next(w[0], idleNs/1000, float64(r.Slots)/(float64(r.Ns)/1000))
	if !changed || o.launch.Mode != reference.Natural || o.ran(reference.Workgroup{next, 1, 1}) {
		return 0
	}
	return next
}

// choose goes on with the sweep and prepares the next launch.
func (o *original) choose() {
	if !o.settled {
		o.sweep()
	}
	p := o.launch
	if o.trial != 0 {
		p.Workgroup = &reference.Workgroup{o.trial, 1, 1}
	}
	o.choice = policy.Geometry{}
	if plan, err := reference.Prepare(&p); err == nil {
		o.choice = policy.Geometry{Width: plan.Workgroup[0], Groups: plan.Grid[0], Chunk: plan.Workgroup[0]}
	}
}

// sweep finds the width to measure next, or ends.
func (o *original) sweep() {
	o.trial = 0
	measure := func(w reference.Workgroup) (uint64, error) {
		at := slices.IndexFunc(o.measured, func(m reference.Measurement) bool { return m.Workgroup == w })
		switch {
		case at >= 0:
			return o.measured[at].Ns, nil
		case o.missed >= missedLaunches && o.missedNs >= missedNs:
			return 0, errNotRun
		}
		o.trial = w[0]
		return 0, errNotMeasured
	}
	var selected reference.Workgroup
	var err error
	if o.launch.Mode == reference.On {
		var best reference.Measurement
		best, o.swept, err = reference.Sweep(o.candidates, measure)
		selected = best.Workgroup
	} else {
		var s reference.Suggestion
		s, o.swept, err = reference.SweepNatural(o.candidates, reference.DefaultTemperatureNs, reference.Identity(len(o.candidates)), measure)
		selected = s.Selected
	}
	if errors.Is(err, errNotMeasured) {
		return
	}
	o.settled = true
	if o.swept {
		o.launch.Declared = selected
	}
}

// recall begins with what an earlier process selected: the sweep's width, and with it what the launch plan chose.
func (o *original) recall(m Memory) {
	if m == nil || o.device == "" || o.settled {
		return
	}
	width, found := o.selected(m, o.programKey())
	if !found {
		return
	}
	o.launch.Declared, o.swept, o.settled, o.trial = width, true, true, 0
	if kept, found := o.selected(m, o.launchKey()); found {
		o.launch.PersistedWidth = kept[0]
	}
	o.choose()
}

// selected is a candidate that was selected here before.
func (o *original) selected(m Memory, key cache.Key) (reference.Workgroup, bool) {
	known, moment, ok := m.Recall(o.place(), key, 0)
	w := reference.Workgroup{known.Selected.Width, 1, 1}
	return w, ok && moment == FirstMoment && slices.Contains(o.candidates, w)
}

// remember keeps selections, as the original does; it forgets its measurements with the process.
func (o *original) remember(m Memory) {
	if m == nil || o.device == "" || !o.swept {
		return
	}
	program := o.programKey()
	m.Remember(o.place(), cache.Entry{Key: program, Selected: policy.Geometry{Width: o.launch.Declared[0]}})
	if o.launch.Mode == reference.Natural {
		m.Remember(o.place(), cache.Entry{Key: o.launchKey(), Selected: policy.Geometry{Width: reference.Resolve(&o.launch)[0]}})
	}
}

// place names what the original keeps in one file.
func (o *original) place() string { return reference.AdapterKey(o.device, o.launch.Limits) }

// programKey names the sweep's width. Programs of the ring declare no width of their own.
func (o *original) programKey() cache.Key {
	declared := reference.Workgroup{min(reference.DefaultWidth, o.launch.Limits.MaxThreads, o.launch.Limits.MaxBlock[0]), 1, 1}
	return digest(reference.ProgramKey(o.id, declared, nil, uint64(o.launch.Bindings[0].Elements)*ring.SlotBytes))
}

// launchKey names the launch plan's choice.
func (o *original) launchKey() cache.Key {
	return digest(reference.LaunchKey(o.id, o.launch.Declared, o.launch.Bindings[0].Elements, o.launch.Limits))
}

// digest is the hash in which a key of the original ends.
func digest(key string) (d cache.Key) {
	if n, err := hex.Decode(d[:], []byte(key[len(key)-hex.EncodedLen(len(d)):])); err != nil || n != len(d) {
		panic("session: a key of the original without its hash: " + key)
	}
	return d
}
