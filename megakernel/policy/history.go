package policy

import "slices"

// Way is how a launch ran, as far as that matters to what it takes.
type Way uint8

// Ways.
const (
	WayInterpreted Way = iota // a wave, by the interpreter
	WayCompiled               // a wave, by a compiled kernel
	WayLeased                 // a round of a kernel that stays on the device
	ways
)

// forgetAfter is after how many launches a way that ran none of them is forgotten: what slots
// are may have changed. Learning it anew takes enoughRows of as many, one in 500.
const forgetAfter = 4_096

// History is what a queue's launches took, by way. The zero value has none. It is a value: its
// copies are independent.
type History struct {
	launches              uint64
	wave                  Way    // of the last wave
	refused               uint64 // the last launch that a lease was to run and did not; 0: none
	wavesHost, leasesHost hostTimes
	by                    [ways]struct {
		costs    Costs
		launch   uint64 // the last of it
		estimate Cost   // unless stale
		stale    bool
	}
}

// Take adds a launch. One that cannot be true is refused and changes nothing.
func (h *History) Take(way Way, slots, ns uint64) error {
	b := &h.by[way]
	if err := b.costs.Take(slots, ns); err != nil {
		return err
	}
	h.launches++
	b.launch, b.stale = h.launches, true
	if way != WayLeased {
		h.wave = way
	}
	return nil
}

// Alone adds for how long the host had to do with a launch, besides the time that the device had it, by
// the device's own clock or by the host's. The launch was the only one under way: what others do
// meanwhile is not counted.
func (h *History) Alone(way Way, hostNs uint64, deviceClock bool) {
	times := &h.wavesHost
	if way == WayLeased {
		times = &h.leasesHost
	}
	times.ns[times.taken%hostRows] = hostNs
	times.taken++
	times.deviceClock = deviceClock
}

// hostRows is how many launches the host's part is the median of.
const hostRows = 8

type hostTimes struct {
	ns          [hostRows]uint64
	taken       uint64
	deviceClock bool // the newest launch was timed by the device
}

// median is that of the newest times, 0 without any.
func (t *hostTimes) median() uint64 {
	sorted := t.ns
	rows := sorted[:min(t.taken, hostRows)]
	slices.Sort(rows)
	if len(rows) == 0 {
		return 0
	}
	return rows[len(rows)/2]
}

// Refuse notes that the launch added last was for a lease, which did not take its slots.
func (h *History) Refuse() { h.refused = max(h.launches, 1) }

// Known says whether a launch was measured.
func (h *History) Known() bool { return h.launches != 0 }

// Measured is what is known of the cost of a queue's launches; zero where nothing is.
type Measured struct {
	Any Cost       // what to expect of the next: that of the way of the last wave, or of leases if there was none
	By  [ways]Cost // of each way with enough launches to compare it with another

	WaveSlots uint32 // the median slots of the waves' launches, of the way whose launches had fewer; 0: not known

	// HostNs is for how long the host has to do with a wave, where the device has a clock that tells the two
	// apart; 0: not known. A software renderer has none, and its processors are the host's.
	HostNs     uint64
	WaveHostNs uint64 // for how long the host has to do with a wave beyond what a round of a lease takes it; 0: not known

	LeaseRefused bool // a launch of late that was for one
}

// Measured estimates the costs and forgets what is old.
func (h *History) Measured() (m Measured) {
	m.LeaseRefused = h.refused != 0 && h.launches-min(h.refused, h.launches) < forgetAfter
	if h.wavesHost.taken > 0 && h.leasesHost.taken > 0 {
		m.WaveHostNs = sub(h.wavesHost.median(), h.leasesHost.median())
	}
	if h.wavesHost.deviceClock {
		m.HostNs = h.wavesHost.median()
	}
	for way := range h.by {
		b := &h.by[way]
		if h.launches-b.launch >= forgetAfter {
			b.costs, b.estimate, b.stale = Costs{}, Cost{}, false
		}
		if b.stale {
			b.estimate, b.stale = b.costs.Estimate(), false
		}
		if b.costs.Enough() {
			m.By[way] = b.estimate
			if slots := b.costs.slots(); Way(way) != WayLeased && (m.WaveSlots == 0 || slots < m.WaveSlots) {
				m.WaveSlots = slots
			}
		}
	}
	m.Any = h.by[h.wave].estimate
	if !m.Any.known() {
		m.Any = h.by[WayLeased].estimate
	}
	return m
}
