package course

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"ringmaster/bench/course/arrivals"
	"ringmaster/cmd/runtime/demo/trace"
)

// Load is work that arrives: one stream for each queue.
type Load struct {
	Name    string
	Streams []Stream
	Like    string // the load whose capacity its rates are parts of; its own if that is empty
	Trace   bool   // the streams are prefill and decode of the trace, at its moments
}

// Stream is the work of one queue.
type Stream struct {
	Queue, Class string // figures are by class
	Kind         Kind
	Slots        int            // of a batch
	Shape        arrivals.Shape // of the arrivals, if it has a Weight
	Weight       float64        // its part of the load's slots
	Every        time.Duration  // instead of a Weight: a batch each, whatever the rate
}

// Sizes of batches. Heavy ones are so small that a batch is a launch of milliseconds on a software renderer too.
const (
	lightSlots, heavySlots, skewedSlots = 1024, 256, 1024
	tenantSlots                         = 64
	tenants, floods                     = 8, 50
	urgentSlots, urgentEvery            = 16, 5 * time.Millisecond
)

// Loads are all there are.
func Loads() (all []Load) {
	all = append(all, Load{Name: "trace", Trace: true, Streams: []Stream{
		{Queue: "prefill", Class: "prefill", Kind: Light}, {Queue: "decode", Class: "decode", Kind: Light},
	}})
	for _, k := range []struct {
		kind  Kind
		slots int
	}{{Light, lightSlots}, {Heavy, heavySlots}, {Skewed, skewedSlots}} {
		for _, shape := range []arrivals.Shape{arrivals.Steady, arrivals.OnOff, arrivals.Ramp, arrivals.Step} {
			all = append(all, Load{
				Name:    fmt.Sprintf("%v-%v", shape, k.kind),
				Like:    fmt.Sprintf("%v-%v", arrivals.Steady, k.kind),
				Streams: []Stream{{Queue: "work", Class: "work", Kind: k.kind, Slots: k.slots, Shape: shape, Weight: 1}},
			})
		}
	}
	urgent := Stream{Queue: "urgent", Class: "urgent", Kind: Light, Slots: urgentSlots, Every: urgentEvery}
	backlog := Stream{Queue: "backlog", Class: "backlog", Kind: Heavy, Slots: heavySlots, Shape: arrivals.Steady, Weight: 1}
	all = append(all,
		Load{Name: "alone", Streams: []Stream{urgent}},
		Load{Name: "urgent", Like: "steady-heavy", Streams: []Stream{urgent, backlog}},
		Load{Name: "tenants", Streams: tenantStreams(1)},
		Load{Name: "flood", Like: "tenants", Streams: tenantStreams(floods)},
	)
	return all
}

// tenantStreams are eight queues, the first of which has first times the work of each other.
func tenantStreams(first float64) (all []Stream) {
	for i := range tenants {
		s := Stream{Queue: fmt.Sprint("tenant", i+1), Class: "tenants", Kind: Heavy, Slots: tenantSlots, Shape: arrivals.Steady, Weight: 1}
		if i == 0 && first > 1 {
			s.Class, s.Weight = "flood", first
		}
		all = append(all, s)
	}
	return all
}

// Find are loads by name, in the order in which they are asked for; all without names.
func Find(names []string) ([]Load, error) {
	return byName("load", Loads(), func(l Load) string { return l.Name }, names)
}

// byName picks things by name, in the order of the names; all without names. An unknown name is refused with
// those that there are.
func byName[T any](what string, all []T, nameOf func(T) string, names []string) (found []T, err error) {
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, thing := range all {
		known = append(known, nameOf(thing))
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("there is no %s %q; there are %s", what, name, strings.Join(known, ", "))
		}
		found = append(found, all[i])
	}
	return found, nil
}

// measured is the load that its rates are parts of.
func (l *Load) measured() string {
	if l.Like != "" {
		return l.Like
	}
	return l.Name
}

// rated reports whether a rate changes anything.
func (l *Load) rated() bool {
	return l.Trace || slices.ContainsFunc(l.Streams, func(s Stream) bool { return s.Weight > 0 })
}

// Batch is one batch of a schedule.
type Batch struct {
	At     time.Duration
	Stream int
	Slots  int
}

// Schedule is what arrives in a span: batches in order, at perSecond slots of the streams that have a weight.
// The same seed gives the same schedule.
func (l *Load) Schedule(perSecond float64, span time.Duration, seed uint64, recorded []trace.Request) (batches []Batch) {
	if l.Trace {
		return traceSchedule(perSecond, span, seed, recorded)
	}
	weights := 0.0
	for _, s := range l.Streams {
		weights += s.Weight
	}
	times := make([][]time.Duration, len(l.Streams))
	for i, s := range l.Streams {
		if s.Weight == 0 {
			times[i] = arrivals.Times(arrivals.Even, float64(time.Second)/float64(s.Every), span, nil)
			continue
		}
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		times[i] = arrivals.Times(s.Shape, perSecond*s.Weight/weights/float64(s.Slots), span, random)
	}
	for _, a := range arrivals.Merge(times) {
		batches = append(batches, Batch{At: a.At, Stream: a.Stream, Slots: l.Streams[a.Stream].Slots})
	}
	return batches
}

// traceSchedule is a part of the recorded requests, from a random one on, played so fast that their mean over
// the whole record is perSecond. A request arrives as a batch of prefill and one of decode, as in the demo.
func traceSchedule(perSecond float64, span time.Duration, seed uint64, recorded []trace.Request) (batches []Batch) {
	if len(recorded) < 2 {
		return nil
	}
	speed := perSecond / traceRate(recorded)
	random := rand.New(rand.NewPCG(seed, 0))
	first := random.IntN(len(recorded))
	begin, length := recorded[first].At, recorded[len(recorded)-1].At
	for i := first; ; i++ {
		r := recorded[i%len(recorded)]
		at := r.At + time.Duration(i/len(recorded))*length - begin
		if at = time.Duration(float64(at) / speed); at >= span {
			return batches
		}
		for stream, slots := range [...]int{r.PrefillSlots(), r.DecodeSlots()} {
			for ; slots > 0; slots -= mostTraceSlots {
				batches = append(batches, Batch{At: at, Stream: stream, Slots: min(slots, mostTraceSlots)})
			}
		}
	}
}

// mostTraceSlots is the most slots of a batch of the trace; longer ones are several batches.
const mostTraceSlots = 4096

// traceRate is the recorded slots per recorded second.
func traceRate(recorded []trace.Request) float64 {
	slots := 0
	for _, r := range recorded {
		slots += r.PrefillSlots() + r.DecodeSlots()
	}
	return float64(slots) / max(recorded[len(recorded)-1].At.Seconds(), 1e-3)
}
