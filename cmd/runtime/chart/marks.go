package chart

import (
	"math"
	"strconv"
)

// Mark is a value of something, and the least and most of it. Strong ones stand out.
type Mark struct {
	Name           string
	Low, Mid, High float64
	Strong         bool
}

// Panel is the marks of one case, one under the other.
type Panel struct {
	Title string
	Marks []Mark
}

// Measures in pixels.
const (
	names, plot, gap = 120, 230, 24 // width of the names, of an axis, between panels
	line, head, foot = 15, 24, 26   // height of a mark, of a title, of an axis
)

// Panels are cases side by side, each with an axis of its own.
type Panels struct {
	Title, Unit string
	Panels      []Panel
	Columns     int // of panels
}

// Draw draws the panels, so many in a row.
func (d *Panels) Draw() string {
	columns := max(min(d.Columns, len(d.Panels)), 1)
	most := 0
	for i := range d.Panels {
		most = max(most, len(d.Panels[i].Marks))
	}
	wide, high := names+plot+gap, head+most*line+foot
	rows := (len(d.Panels) + columns - 1) / columns
	var w writer
	w.begin(columns*wide+gap, rows*high+2*head)
	w.label(gap/2, 16, "title", "start", d.Title)
	for i := range d.Panels {
		w.add(`<g transform="translate(`).int(i%columns*wide + gap/2).add(" ").int(i/columns*high + 2*head).add(`)">`)
		d.Panels[i].draw(&w, d.Unit)
		w.add("</g>\n")
	}
	return w.end()
}

func (p *Panel) draw(w *writer, unit string) {
	from, to := p.axis()
	at := func(v float64) float64 {
		return names + plot*(math.Log10(v)-float64(from))/float64(to-from)
	}
	bottom := float64(len(p.Marks)*line + 4)
	w.label(names, -6, "head", "start", p.Title)
	for e := from; e <= to; e++ {
		x := at(math.Pow10(e))
		w.rule(x, 0, x, bottom)
		w.label(x, bottom+12, "soft", "middle", strconv.FormatFloat(math.Pow10(e), 'g', -1, 64)+" "+unit)
	}
	for i := range p.Marks {
		m, y := &p.Marks[i], float64(i*line+line/2+2)
		w.label(names-6, y+4, "", "end", m.Name)
		if !m.drawn() {
			continue
		}
		class := "weak"
		if m.Strong {
			class = "strong"
		}
		w.add(`<path class="`).add(class).add(`" d="M`).at(at(m.Low)).add(" ").at(y).add("H").at(at(m.High)).add(`"/>`)
		w.add(`<circle class="`).add(class).add(`" cx="`).at(at(m.Mid)).add(`" cy="`).at(y).add(`" r="3"><title>`)
		w.name(number(m.Mid)).add(" ").name(unit).add("</title></circle>\n")
	}
}

// drawn reports whether a mark has a place on a logarithmic axis.
func (m *Mark) drawn() bool {
	return m.Low > 0 && m.Low <= m.Mid && m.Mid <= m.High && !math.IsInf(m.High, 0)
}

// axis is the powers of ten around the marks, at least one apart.
func (p *Panel) axis() (from, to int) {
	low, high := math.Inf(1), math.Inf(-1)
	for i := range p.Marks {
		if m := &p.Marks[i]; m.drawn() {
			low, high = min(low, m.Low), max(high, m.High)
		}
	}
	if math.IsInf(low, 0) {
		return 0, 1
	}
	from, to = int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	return from, max(to, from+1)
}
