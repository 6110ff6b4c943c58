package course

import (
	"slices"

	"ringmaster/cmd/runtime/chart"
)

// Picture is the 99th percentiles as SVG: a panel for each load, rate and class, in it each decider's median and
// the span of its rounds.
func (s *Summary) Picture() string {
	var panels []chart.Panel
	for i := range s.Rows {
		r := &s.Rows[i]
		for j := range r.Classes {
			title := place{r.Load, r.Rate}.String()
			if len(r.Classes) > 1 {
				title += ", " + r.Classes[j].Name
			}
			at := slices.IndexFunc(panels, func(p chart.Panel) bool { return p.Title == title })
			if at < 0 {
				at, panels = len(panels), append(panels, chart.Panel{Title: title})
			}
			panels[at].Marks = append(panels[at].Marks, s.mark(r, r.Classes[j].Name))
		}
	}
	drawing := chart.Panels{Title: "99th percentile of submit → done: median and span of the rounds", Unit: "ms", Panels: panels, Columns: 3}
	return chart.File(drawing.Draw())
}

func (s *Summary) mark(r *Row, class string) chart.Mark {
	m := chart.Mark{Name: r.Decider, Strong: slices.ContainsFunc(Contestants(), func(c Contestant) bool { return c.ours && c.Name == r.Decider })}
	var all []float64
	for k, c := range s.cells {
		if k.load != r.Load || k.rate != r.Rate || k.decider != r.Decider {
			continue
		}
		for _, l := range c.Classes {
			if l.Name == class {
				all = append(all, l.P99)
			}
		}
	}
	if len(all) > 0 {
		m.Low, m.Mid, m.High = slices.Min(all), r.class(class).P99, slices.Max(all)
	}
	return m
}
