package chart

// Span is a state that something was in, from so many seconds before now to so many.
type Span struct {
	From, To float64 // seconds ago, From the larger
	Colour   int
	Label    string // the state in a word, written where there is room
	Title    string // what a reader is told who points at it
	Link     string // where a click leads, "" for nowhere
}

// Band is one thing's states over time.
type Band struct {
	Name  string
	Spans []Span
}

// Bands are the states of things over the last seconds, one under the other.
type Bands struct {
	Title   string
	Seconds float64 // how far back the axis goes
	Wide    int     // in pixels, with the names
	Bands   []Band
}

// Measures in pixels: a band and its gap, and the room for the names beside the bands, the title, and the axis.
const (
	bandHigh, bandGap     = 16, 3
	besides, above, below = 70, 20, 18
)

// Draw draws the bands over a common axis of time.
func (b *Bands) Draw() string {
	var w writer
	high := above + len(b.Bands)*(bandHigh+bandGap) + below
	w.begin(b.Wide, high)
	w.label(0, 12, "head", "start", b.Title)
	left := float64(besides) // of the plot: as far as the longest name reaches, and at most a third
	for i := range b.Bands {
		left = min(max(left, textWidth(b.Bands[i].Name)+4), float64(b.Wide)/3)
	}
	w.timeAxis(left, float64(b.Wide)-left, above, float64(high-below), b.Seconds)
	for i := range b.Bands {
		top := float64(above + i*(bandHigh+bandGap))
		w.label(left-4, top+12, "", "end", b.Bands[i].Name)
		w.spans(b.Bands[i].Spans, left, top, float64(b.Wide)-left, bandHigh, b.Seconds)
	}
	return w.end()
}

// textWidth is about how many pixels a text of the drawings' font takes.
func textWidth(text string) float64 { return 6.2 * float64(len([]rune(text))) }

// Strip draws the states of one thing without names or axis, for a row of a table.
func Strip(spans []Span, seconds float64, wide, high int) string {
	var w writer
	w.begin(wide, high)
	w.spans(spans, 0, 0, float64(wide), float64(high), seconds)
	return w.end()
}

// spans draws what of the spans lies within the last seconds.
func (w *writer) spans(spans []Span, left, top, wide, high, seconds float64) {
	for i := range spans {
		s := &spans[i]
		from, to := min(s.From, seconds), max(s.To, 0)
		if from <= to {
			continue
		}
		x, width := left+wide*(1-from/seconds), max(wide*(from-to)/seconds, .5)
		if s.Link != "" {
			w.add(`<a href="`).name(s.Link).add(`">`)
		}
		w.add(`<rect class="area`).colour(s.Colour).add(`" x="`).at(x).add(`" y="`).at(top).add(`" width="`).at(width).add(`" height="`).at(high).add(`">`)
		w.add("<title>").name(s.Title).add("</title></rect>")
		if s.Label != "" && textWidth(s.Label)+6 < width && high >= 12 {
			w.label(x+4, top+12, "on", "start", s.Label)
		}
		if s.Link != "" {
			w.add("</a>")
		}
	}
}
