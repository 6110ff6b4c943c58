package policy

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPickQueue(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	at := func(priority, served float64, waited uint64, pending int) Candidate {
		return Candidate{Priority: priority, Served: served, Waited: waited, Pending: pending, InFlight: 1}
	}
	long := func(c Candidate, ns uint64) Candidate { c.LaunchNs = ns; return c }
	due := func(c Candidate, in int64) Candidate {
		c.HasDue, c.DueNs, c.LaunchNs, c.PendingNs = true, in, 10, 20
		return c
	}
	for name, c := range map[string]struct {
		candidates []Candidate
		want       int
		weight     float64
	}{
		"none":                       {nil, -1, 0},
		"no work":                    {[]Candidate{at(9, 0, 0, 0)}, -1, 0},
		"least time":                 {[]Candidate{at(1, 7, 9, 1), at(1, 5, 0, 1), at(1, 6, 3, 1)}, 1, 1},
		"least time without work":    {[]Candidate{at(1, 7, 0, 1), at(1, 5, 0, 0), at(1, 6, 0, 1)}, 2, 1},
		"time before priority":       {[]Candidate{at(9, 7, 0, 1), at(1, 6, 0, 1)}, 1, 1},
		"highest":                    {[]Candidate{at(1, 0, 0, 1), at(3, 0, 0, 1), at(2, 0, 0, 1)}, 1, 16},
		"between":                    {[]Candidate{at(1, 1, 0, 1), at(3, 1, 0, 1), at(2, 0, 0, 1)}, 2, 8.5},
		"highest without work":       {[]Candidate{at(1, 0, 0, 1), at(3, 0, 0, 0), at(2, 0, 0, 1)}, 2, 16},
		"negative":                   {[]Candidate{at(-3, 0, 0, 1), at(-2, 0, 0, 1)}, 1, 16},
		"equal, longest wait":        {[]Candidate{at(1, 0, 2, 1), at(1, 0, 3, 1), at(1, 0, 3, 1)}, 1, 1},
		"aged":                       {[]Candidate{at(9, 0, 0, 1), at(1, 1e9, 2*AgeLaunches, 1)}, 1, 1},
		"not yet aged":               {[]Candidate{at(9, 0, 0, 1), at(1, 1e9, 2*AgeLaunches-1, 1)}, 0, 16},
		"longest of the aged":        {[]Candidate{at(1, 9, 3*AgeLaunches, 1), at(1, 8, 3*AgeLaunches, 1), at(1, 9, 3*AgeLaunches+1, 1)}, 2, 1},
		"NaN is lowest":              {[]Candidate{at(nan, 0, 0, 1), at(-5, 0, 0, 1), at(-4, 0, 0, 1)}, 2, 16},
		"only NaN":                   {[]Candidate{at(nan, 0, 0, 1), at(nan, 0, 1, 1)}, 1, 1},
		"largest numbers":            {[]Candidate{at(-math.MaxFloat64, 0, 0, 1), at(math.MaxFloat64, 0, 0, 1)}, 1, 16},
		"infinite":                   {[]Candidate{at(5, 0, 0, 1), at(inf, 0, 0, 1)}, 1, 16},
		"late":                       {[]Candidate{at(1, 0, 0, 1), due(at(1, 5, 0, 1), 30)}, 1, 1},
		"in time":                    {[]Candidate{at(1, 0, 0, 1), due(at(1, 5, 0, 1), 31)}, 0, 1},
		"the longest launch counts":  {[]Candidate{long(at(1, 0, 0, 1), 40), due(at(1, 5, 0, 1), 60)}, 1, 1},
		"not of those without work":  {[]Candidate{at(1, 0, 0, 1), due(at(1, 5, 0, 1), 60), long(at(1, 0, 0, 0), 40)}, 0, 1},
		"late without work":          {[]Candidate{at(1, 0, 0, 1), due(at(1, 5, 0, 0), 1)}, 0, 1},
		"the first that is due":      {[]Candidate{due(at(1, 0, 0, 1), 5), due(at(1, 5, 0, 1), -3), at(1, 0, 0, 1)}, 1, 1},
		"too far ahead":              {[]Candidate{at(1, 7, 0, 1), due(at(1, LeadNs+8, 0, 1), 5)}, 0, 1},
		"as far ahead as may be":     {[]Candidate{at(1, 7, 0, 1), due(at(1, LeadNs+7, 0, 1), 5)}, 1, 1},
		"aged before late":           {[]Candidate{at(1, 9, 2*AgeLaunches, 1), due(at(1, 5, 0, 1), 5)}, 0, 1},
		"late before priority":       {[]Candidate{at(9, 0, 0, 1), due(at(1, 0, 0, 1), 5)}, 1, 1},
		"needs without end":          {[]Candidate{long(at(1, 0, 0, 1), math.MaxUint64), due(at(1, 5, 0, 1), math.MaxInt64)}, 1, 1},
		"long past":                  {[]Candidate{at(1, 0, 0, 1), due(at(1, 5, 0, 1), math.MinInt64)}, 1, 1},
		"idle ones do not set scale": {[]Candidate{at(1, 0, 8, 1), at(2, 0, 0, 1), at(1e9, 0, 0, 0)}, 1, 16},
	} {
		if got, weight := PickQueue(c.candidates); got != c.want || weight != c.weight {
			t.Errorf("%s: got %d of weight %v, want %d of %v", name, got, weight, c.want, c.weight)
		}
	}
}

func TestVirtualTime(t *testing.T) {
	idle, ready, full := Candidate{Served: 1}, Candidate{Served: 5, Pending: 1}, Candidate{Served: 3, Full: true}
	for _, c := range []struct {
		was        float64
		candidates []Candidate
		want       float64
	}{
		{2, nil, 2}, {2, []Candidate{idle}, 2}, {2, []Candidate{idle, ready}, 5}, {2, []Candidate{ready, full}, 3}, {9, []Candidate{ready}, 9},
	} {
		if got := VirtualTime(c.was, c.candidates); got != c.want {
			t.Errorf("%v after %v: %v, want %v", c.candidates, c.was, got, c.want)
		}
	}
}

// Whatever the priorities and times do, and however work comes and goes, a queue that
// has had work since it last ran waits at most n × AgeLaunches + n - 1 launches.
func TestPickQueueStarvesNobody(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 8).Draw(t, "n")
		victim := rapid.IntRange(0, n-1).Draw(t, "victim")
		priority := rapid.OneOf(rapid.Float64Range(-1e9, 1e9), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.MaxFloat64}))
		queues := make([]Candidate, n)
		for i := range queues {
			queues[i].Waited = rapid.Uint64Range(0, 100).Draw(t, "waited before")
			queues[i].Served = rapid.Float64Range(0, 1e9).Draw(t, "served before")
		}
		queues[victim] = Candidate{Priority: math.Inf(-1), Pending: 1, Served: math.MaxFloat64}
		for range 2 * n * (AgeLaunches + 1) {
			for i := range queues {
				if i != victim && rapid.IntRange(0, 7).Draw(t, "changes") == 0 {
					queues[i].Priority = priority.Draw(t, "priority")
					queues[i].Pending = rapid.IntRange(0, 1).Draw(t, "pending")
				}
			}
			picked, _ := PickQueue(queues)
			if queues[picked].Pending == 0 {
				t.Fatalf("picked %d, which has no work", picked)
			}
			for i := range queues {
				queues[i].Waited++
			}
			queues[picked].Waited = 0
			if w := queues[victim].Waited; w > uint64(n*AgeLaunches+n-1) {
				t.Fatalf("waited %d launches among %d queues", w, n)
			}
		}
	})
}

// device runs the queues of a worker, one launch at a time, as the worker actor accounts for
// them.
type device struct {
	queues  []Candidate
	got     []float64 // nanoseconds
	now     float64
	virtual float64
}

func (d *device) launch(took func(i int) float64) (ran int) {
	for i := range d.queues {
		d.queues[i].Served = max(d.queues[i].Served, d.virtual)
	}
	i, weight := PickQueue(d.queues)
	for k := range d.queues {
		if d.queues[k].Pending > 0 {
			d.queues[k].Waited++
		}
	}
	d.virtual = VirtualTime(d.virtual, d.queues)
	ns := took(i)
	d.queues[i].Waited = 0
	d.queues[i].Served += ns / weight
	d.got[i] += ns
	d.now += ns
	return i
}

// Eight queues of equal priority that always have work get the same of the device's time,
// though launches of one take several times as long as those of another.
func TestEqualQueuesShareTheDevicesTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := device{queues: make([]Candidate, 8), got: make([]float64, 8)}
		mean := make([]float64, 8)
		for i := range d.queues {
			d.queues[i] = Candidate{Priority: 1, Pending: 1}
			mean[i] = rapid.Float64Range(250_000, 2_000_000).Draw(t, "ns")
		}
		for d.now < 1e9 {
			d.launch(func(i int) float64 { return mean[i] * rapid.Float64Range(.5, 1.5).Draw(t, "noise") })
		}
		least, most := math.Inf(1), 0.0
		for _, ns := range d.got {
			least, most = min(least, ns), max(most, ns)
		}
		if least < .8*most {
			t.Fatalf("least %.0f of %.0f ns: %v", least, most, d.got)
		}
	})
}

// Whatever a queue says of when its slots are due, it gets its share of the device's time and no
// more than LeadNs and two launches beyond that, at any moment.
func TestWhoIsAlwaysLateGetsItsShareAndALead(t *testing.T) {
	const longest = 3e6
	rapid.Check(t, func(t *rapid.T) {
		d := device{queues: make([]Candidate, 4), got: make([]float64, 4)}
		mean := make([]float64, len(d.queues))
		for i := range d.queues {
			mean[i] = rapid.Float64Range(500_000, longest/1.5).Draw(t, "ns")
			d.queues[i] = Candidate{Priority: 1, Pending: 1, LaunchNs: uint64(mean[i])}
		}
		for i := range rapid.IntRange(1, 3).Draw(t, "late") {
			d.queues[i].HasDue = true
		}
		for d.now < 3e8 {
			for i := range d.queues {
				d.queues[i].DueNs = rapid.Int64Range(-1e9, 1e6).Draw(t, "due")
				d.queues[i].PendingNs = rapid.Uint64Range(0, 1e9).Draw(t, "pending")
			}
			d.launch(func(i int) float64 { return mean[i] * rapid.Float64Range(.5, 1.5).Draw(t, "noise") })
			if most, least := slices.Max(d.got), slices.Min(d.got); most-least > LeadNs+2*longest {
				t.Fatalf("at %.0f: %.0f", d.now, d.got)
			}
		}
		if !d.queues[1].HasDue && d.got[0]-d.got[1] < LeadNs/2 {
			t.Fatalf("late, it never got ahead: %.0f", d.got)
		}
	})
}

// A queue that seldom has work runs as soon as the launch under way ends, however much another
// has to do.
func TestAFloodDelaysOthersByOneLaunch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := device{queues: []Candidate{{Priority: 1, Pending: 1}, {Priority: 1}}, got: make([]float64, 2)}
		due := 0.0
		d.launch(func(int) float64 { return 1e6 })
		for range 200 {
			arrived := d.now >= due
			if arrived {
				d.queues[1].Pending = 1
			}
			ran := d.launch(func(i int) float64 {
				if i == 1 {
					return 100_000
				}
				return rapid.Float64Range(100_000, 2_000_000).Draw(t, "ns")
			})
			if arrived && ran != 1 {
				t.Fatalf("at %.0f the flood ran, served %v", d.now, d.queues)
			}
			if ran == 1 {
				d.queues[1].Pending = 0
				due = d.now + rapid.Float64Range(1e6, 1e7).Draw(t, "pause")
			}
		}
	})
}

// Of two queues that always have work, one of the higher priority gets PriorityWeight times
// as much of the device's time.
func TestPriorityIsAShareOfTime(t *testing.T) {
	d := device{queues: []Candidate{{Priority: 3, Pending: 1}, {Priority: 1, Pending: 1}}, got: make([]float64, 2)}
	for range 10_000 {
		d.launch(func(i int) float64 { return []float64{2e6, 1e6}[i] })
	}
	if ratio := d.got[0] / d.got[1]; ratio < .9*PriorityWeight || ratio > 1.1*PriorityWeight {
		t.Errorf("%.2f times as much", ratio)
	}
}
