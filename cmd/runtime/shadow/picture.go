package shadow

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"ringmaster/cmd/runtime/chart"
	"ringmaster/cmd/runtime/text"
)

// Measures of a picture.
const (
	drawnQueues = 20
	pictureWide = 1000 // pixels
)

// Picture draws, as SVG, what each queue's launches ran as, above what was advised for them; the queues that differ most
// come first. A geometry has one colour in a queue's two bands.
func (r *recorder) Picture() string {
	names := slices.DeleteFunc(slices.Collect(maps.Keys(r.queues)), func(name string) bool { return len(r.queues[name].launches) == 0 })
	differ := make(map[string]int)
	var from, to time.Time
	for _, name := range names {
		launches := r.queues[name].launches
		for i := range launches {
			if launches[i].different() {
				differ[name]++
			}
		}
		if at := launches[0].at; from.IsZero() || at.Before(from) {
			from = at
		}
		if at := launches[len(launches)-1].at; at.After(to) {
			to = at
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(differ[b]-differ[a], cmp.Compare(a, b)) })
	left := len(names) - min(len(names), drawnQueues)
	drawing := chart.Bands{Title: "What engines launched, and the advice, until " + to.UTC().Format(time.DateTime) + " UTC", Seconds: max(to.Sub(from).Seconds(), 1), Wide: pictureWide}
	if left > 0 {
		drawing.Title += "; " + text.Plural(uint64(left), "queue") + " with fewer differences not drawn"
	}
	for _, name := range names[:len(names)-left] {
		drawing.Bands = append(drawing.Bands, bandsOf(name, r.queues[name].launches, to, drawing.Seconds)...)
	}
	return chart.File(drawing.Draw())
}

// bandsOf are the two bands of a queue.
func bandsOf(name string, launches []launch, end time.Time, seconds float64) []chart.Band {
	colours := make(map[way]int)
	ran, advised := chart.Band{Name: name}, chart.Band{Name: "advice"}
	add := func(b *chart.Band, w way, what string, at time.Time) {
		colour, known := colours[w]
		if !known {
			colour = 1 + len(colours)%(chart.Colours-1)
			colours[w] = colour
		}
		begin(b, colour, strconv.Itoa(int(w.geometry.WorkgroupSizeX))+"×"+strconv.Itoa(int(w.geometry.Groups)), what, end.Sub(at).Seconds(), seconds)
	}
	for i := range launches {
		l := &launches[i]
		add(&ran, l.ran, l.ran.String(), l.at)
		switch {
		case !l.advised:
			begin(&advised, 0, "none", "no advice stood", end.Sub(l.at).Seconds(), seconds)
		case l.launches() > 1:
			add(&advised, l.advice, fmt.Sprintf("%v, at most %d slots a launch", l.advice, l.depth), l.at)
		default:
			add(&advised, l.advice, l.advice.String(), l.at)
		}
	}
	return []chart.Band{ran, advised}
}

// begin ends a band's last span where another state begins. What is narrower than half a pixel stays with the state
// before it: a picture is as large as it is wide, however many launches there were.
func begin(b *chart.Band, colour int, label, title string, ago, seconds float64) {
	if n := len(b.Spans); n > 0 {
		last := &b.Spans[n-1]
		if last.Colour == colour && last.Title == title || last.From-ago < seconds/(2*pictureWide) {
			return
		}
		last.To = ago
	}
	b.Spans = append(b.Spans, chart.Span{From: ago, Colour: colour, Label: label, Title: title})
}
