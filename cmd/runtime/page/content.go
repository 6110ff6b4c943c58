package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"time"

	"ringmaster/cmd/runtime/chart"
	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

// functions are those of the templates.
var functions = template.FuncMap{
	"count":   func(n int, noun string) string { return text.Plural(uint64(n), noun) },
	"grouped": func(n uint32) string { return text.Grouped(n) },
	"plain":   text.Plain,
	"clock":   func(t time.Time) string { return t.UTC().Format("15:04:05Z") },
	"seconds": func(s float64) string { return fleetview.Ago(time.Duration(s * float64(time.Second))) },
	"wrong":   func(s fleetview.State) bool { return s.Wrong() },
	"strip":   strip,
	"bar":     func(share fleetview.Figure) template.HTML { return bar(share.Value) },
	"full":    func(r *fleetview.Ring) template.HTML { return bar(float64(r.Pages-r.Free) / float64(max(r.Pages, 1))) },
	"used":    func(r *fleetview.Ring) string { return text.Grouped(r.Pages - r.Free) },
}

// bar is a part of a whole.
func bar(share float64) template.HTML {
	spans := []chart.Span{{From: 1, To: 1 - share, Colour: 1}, {From: 1 - share, To: 0, Colour: 0}}
	return template.HTML(chart.Strip(spans, 1, 120, 12)) // numbers alone
}

// fleet is the first page.
type fleet struct {
	fleetview.Snapshot
	Wrong  int
	Newest []fleetview.Event // first
}

// newFleet has what is wrong first.
func newFleet(s fleetview.Snapshot) *fleet {
	f := &fleet{Snapshot: s, Newest: newest(s.Events, func(*fleetview.Event) bool { return true })}
	wrongFirst(f.Queues)
	for i := range f.Queues {
		if f.Queues[i].State.Wrong() {
			f.Wrong++
		}
	}
	return f
}

func wrongFirst(queues []fleetview.Queue) {
	slices.SortStableFunc(queues, func(a, b fleetview.Queue) int { return cmp.Compare(b.State, a.State) })
}

// mostEvents is how many events a page has.
const mostEvents = 20

func newest(events []fleetview.Event, of func(*fleetview.Event) bool) (out []fleetview.Event) {
	for i := len(events) - 1; i >= 0 && len(out) < mostEvents; i-- {
		if of(&events[i]) {
			out = append(out, events[i])
		}
	}
	return out
}

// worker is a worker's page.
type worker struct {
	fleetview.Worker
	At     time.Time
	All    []fleetview.Queue
	Users  []fleetview.Queue // of the device, who has most of its time first
	Newest []fleetview.Event
}

// mostUsers is how many queues a worker's page has by the device's time.
const mostUsers = 20

func newWorker(s fleetview.Snapshot, name string) (*worker, bool) {
	i := slices.IndexFunc(s.Workers, func(w fleetview.Worker) bool { return w.Name == name })
	w := &worker{At: s.At}
	for j := range s.Queues {
		if s.Queues[j].Worker == name {
			w.All = append(w.All, s.Queues[j])
		}
	}
	if i < 0 && len(w.All) == 0 {
		return nil, false
	}
	w.Name = name
	if i >= 0 {
		w.Worker = s.Workers[i]
	}
	for i := range w.All {
		if share := w.All[i].Device; share.Known && share.Value > 0 {
			w.Users = append(w.Users, w.All[i])
		}
	}
	wrongFirst(w.All)
	slices.SortStableFunc(w.Users, func(a, b fleetview.Queue) int { return cmp.Compare(b.Device.Value, a.Device.Value) })
	w.Users = w.Users[:min(len(w.Users), mostUsers)]
	w.Newest = newest(s.Events, func(e *fleetview.Event) bool {
		return e.Name == name || len(e.Name) > len(name) && e.Name[:len(name)+1] == name+"."
	})
	return w, true
}

// queue is a queue's page.
type queue struct {
	fleetview.Detail
	At          time.Time
	Bands       template.HTML
	Newest      []fleetview.Change // first
	Explained   *explain.Explanation
	Unexplained string // why there is no explanation
}

const (
	bandSeconds = 600
	bandWide    = 760
)

func newQueue(at time.Time, d *fleetview.Detail) *queue {
	q := &queue{Detail: *d, At: at, Newest: slices.Clone(d.Changes)}
	slices.Reverse(q.Newest)
	bands := chart.Bands{Title: "ten minutes", Seconds: bandSeconds, Wide: bandWide}
	for _, b := range []struct {
		name  string
		spans []fleetview.Span
	}{{"topology", d.Topologies}, {"kernel", d.Modes}, {"geometry", d.Geometries}} {
		if b.name == "topology" && d.Plan.Topology == "none" {
			continue
		}
		bands.Bands = append(bands.Bands, chart.Band{Name: b.name, Spans: linked(at, d, b.spans)})
	}
	q.Bands = template.HTML(bands.Draw()) // which escapes every text in it
	return q
}

// linked are spans as a drawing has them. A click leads to the explanation of the change that began one.
func linked(at time.Time, d *fleetview.Detail, spans []fleetview.Span) (out []chart.Span) {
	colours := make(map[string]int)
	for i := range spans {
		s := &spans[i]
		if _, known := colours[s.Label]; !known {
			colours[s.Label] = len(colours) + 1
		}
		link := ""
		for j := range d.Changes { // a span begins within the ten seconds in which its change came
			if c := &d.Changes[j]; !c.At.Before(s.From) && c.At.Before(s.To) && link == "" {
				link = fmt.Sprintf("/queue/%s/%s?decision=%d", d.Worker, d.Queue.Queue, c.Decision)
			}
		}
		colour := colours[s.Label]
		if s.Label == "" {
			colour = 0
		}
		out = append(out, chart.Span{
			From: at.Sub(s.From).Seconds(), To: at.Sub(s.To).Seconds(), Colour: colour, Label: s.Label, Link: link,
			Title: fmt.Sprintf("%s for %s, since %s", text.OrDash(s.Label), fleetview.Ago(s.To.Sub(s.From)), s.From.UTC().Format("15:04:05Z")),
		})
	}
	return out
}

// bandColours are those of the letters of a queue's band; other letters have that of what is not known.
var bandColours = map[byte]int{'i': 1, 'j': 2, '0': 0, 's': 3, 'h': 1, 'd': 6, 'f': 2, 'm': 4, fleetview.MarkNoPlan: 5, fleetview.MarkExpired: 5}

// strip is a queue's last ten minutes, small.
func strip(band string) template.HTML {
	var spans []chart.Span
	step := float64(bandSeconds) / float64(max(len(band), 1))
	for i := 0; i < len(band); {
		end := i
		for end < len(band) && band[end] == band[i] {
			end++
		}
		if band[i] != fleetview.MarkUnheard {
			spans = append(spans, chart.Span{From: float64(len(band)-i) * step, To: float64(len(band)-end) * step, Colour: bandColours[band[i]], Title: string(band[i])})
		}
		i = end
	}
	return template.HTML(chart.Strip(spans, bandSeconds, 120, 12)) // which escapes every text in it
}
