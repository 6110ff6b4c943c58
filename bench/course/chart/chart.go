package chart

import (
	"fmt"
	"html"
	"math"
	"strings"
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
	names, plot, gap = 90, 230, 24 // width of the names, of an axis, between panels
	line, head, foot = 15, 24, 26  // height of a mark, of a title, of an axis
)

// Draw draws panels, so many in a row. Panels have axes of their own.
func Draw(title, unit string, panels []Panel, columns int) string {
	columns = max(min(columns, len(panels)), 1)
	most := 0
	for _, p := range panels {
		most = max(most, len(p.Marks))
	}
	wide, high := names+plot+gap, head+most*line+foot
	rows := (len(panels) + columns - 1) / columns
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="11">`+"\n", columns*wide+gap, rows*high+2*head)
	fmt.Fprintf(&out, `<rect width="100%%" height="100%%" fill="white"/>`+"\n"+`<text x="%d" y="16" font-size="14">%s</text>`+"\n", gap/2, html.EscapeString(title))
	for i, p := range panels {
		fmt.Fprintf(&out, `<g transform="translate(%d %d)">`+"\n", i%columns*wide+gap/2, i/columns*high+2*head)
		p.draw(&out, unit)
		out.WriteString("</g>\n")
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func (p *Panel) draw(out *strings.Builder, unit string) {
	from, to := p.axis()
	at := func(v float64) float64 {
		return names + plot*(math.Log10(v)-float64(from))/float64(to-from)
	}
	bottom := len(p.Marks)*line + 4
	fmt.Fprintf(out, `<text x="%d" y="-6" font-weight="bold">%s</text>`+"\n", names, html.EscapeString(p.Title))
	for e := from; e <= to; e++ {
		x := at(math.Pow10(e))
		fmt.Fprintf(out, `<path d="M%.1f 0V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle" fill="#666">%v %s</text>`+"\n", x, bottom, x, bottom+12, math.Pow10(e), unit)
	}
	for i, m := range p.Marks {
		y, ink := i*line+line/2+2, "#888"
		if m.Strong {
			ink = "#c33"
		}
		fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end">%s</text>`, names-6, y+4, html.EscapeString(m.Name))
		if drawn(m) {
			fmt.Fprintf(out, `<path d="M%.1f %dH%.1f" stroke="%s" stroke-width="2"/><circle cx="%.1f" cy="%d" r="4" fill="%s"><title>%.3g %s</title></circle>`,
				at(m.Low), y, at(m.High), ink, at(m.Mid), y, ink, m.Mid, unit)
		}
		out.WriteByte('\n')
	}
}

// drawn reports whether a mark has a place on a logarithmic axis.
func drawn(m Mark) bool {
	return m.Low > 0 && m.Low <= m.Mid && m.Mid <= m.High && !math.IsInf(m.High, 0)
}

// axis is the powers of ten around the marks, at least one apart.
func (p *Panel) axis() (from, to int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, m := range p.Marks {
		if drawn(m) {
			low, high = min(low, m.Low), max(high, m.High)
		}
	}
	if math.IsInf(low, 0) {
		return 0, 1
	}
	from, to = int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	return from, max(to, from+1)
}
