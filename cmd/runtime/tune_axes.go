package main

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
)

// pictureAxes are the ranges that all panels of a picture share.
type pictureAxes struct{ minX, maxX, minY, maxY float64 }

func newPictureAxes() *pictureAxes {
	return &pictureAxes{math.Inf(1), 0, math.Inf(1), 0}
}

func (a *pictureAxes) include(x, y float64) {
	a.minX, a.maxX = min(a.minX, x), max(a.maxX, x)
	a.minY, a.maxY = min(a.minY, y), max(a.maxY, y)
}

// plot is an empty panel with logarithmic axes.
func (a *pictureAxes) plot() *plot.Plot {
	p := plot.New()
	p.X.Label.Text = "workgroups"
	p.Y.Label.Text = "time of a slot (ns)"
	p.X.Scale, p.Y.Scale = plot.LogScale{}, plot.LogScale{}
	p.X.Tick.Marker, p.Y.Tick.Marker = powersOf(2), powersOf(10)
	p.X.Label.TextStyle.Font.Size, p.Y.Label.TextStyle.Font.Size = vg.Points(9), vg.Points(9)
	p.X.Tick.Label.Font.Size, p.Y.Tick.Label.Font.Size = vg.Points(8), vg.Points(8)
	p.Title.TextStyle.Font.Size = vg.Points(10)
	p.Add(plotter.NewGrid())
	// Leave room for whole dots at the edges.
	p.X.Min, p.X.Max = a.minX/1.4, a.maxX*1.4
	p.Y.Min, p.Y.Max = a.minY/1.2, a.maxY*1.2
	return p
}

// powersOf marks an axis at the powers of a number, or at 1, 2 and 5 times
// powers of ten where those are few.
type powersOf float64

// maxTicks is how many labels fit an axis.
const maxTicks = 9

// Ticks implements plot.Ticker.
func (base powersOf) Ticks(lo, hi float64) (ticks []plot.Tick) {
	if base == 10 && hi/lo < 300 {
		for e := math.Floor(math.Log10(lo)); e <= math.Log10(hi); e++ {
			for _, m := range [...]float64{1, 2, 5} {
				ticks = tickAt(ticks, m*math.Pow(10, e), lo, hi, true)
			}
		}
		if len(ticks) > 1 {
			return ticks
		}
		return append(tickAt(nil, roundTo(lo*1.1), lo, hi, true), tickAt(nil, roundTo(hi/1.1), lo, hi, true)...)
	}
	first, last := math.Ceil(logOf(lo, base)), math.Floor(logOf(hi, base))
	every := math.Ceil((last - first + 1) / maxTicks)
	for e := first; e <= last; e++ {
		ticks = tickAt(ticks, math.Pow(float64(base), e), lo, hi, math.Mod(e-first, every) == 0)
	}
	return ticks
}

func logOf(x float64, base powersOf) float64 { return math.Log(x) / math.Log(float64(base)) }

// roundTo keeps two digits.
func roundTo(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x))-1)
	return math.Round(x/unit) * unit
}

// tickAt adds a mark that lies on the axis.
func tickAt(ticks []plot.Tick, x, lo, hi float64, label bool) []plot.Tick {
	if x < lo || x > hi {
		return ticks
	}
	t := plot.Tick{Value: x}
	if label {
		t.Label = tickLabel(x)
	}
	return append(ticks, t)
}

// tickLabel prints powers of two as people write them.
func tickLabel(x float64) string {
	switch {
	case x >= 1<<20 && math.Mod(x, 1<<20) == 0:
		return fmt.Sprintf("%gMi", x/(1<<20))
	case x >= 1<<10 && math.Mod(x, 1<<10) == 0:
		return fmt.Sprintf("%gKi", x/(1<<10))
	}
	return fmt.Sprintf("%.4g", x)
}
