package chart

import "strconv"

// ago names a moment so many seconds before the end of a time axis.
func ago(seconds float64) string {
	switch {
	case seconds <= 0:
		return "now"
	case seconds < 120:
		return "−" + strconv.FormatFloat(seconds, 'f', -1, 64) + " s"
	case seconds < 7200:
		return "−" + strconv.FormatFloat(seconds/60, 'f', -1, 64) + " min"
	}
	return "−" + strconv.FormatFloat(seconds/3600, 'f', -1, 64) + " h"
}

// timeAxis draws the moments of an axis of so many seconds, in five places at most, below a plot.
func (w *writer) timeAxis(x, wide, top, bottom, seconds float64) {
	step := 1.0
	for _, s := range [...]float64{1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21600, 43200, 86400} {
		if step = s; seconds/s <= 5 {
			break
		}
	}
	for back := 0.0; back <= seconds && step > 0; back += step {
		at := x + wide*(1-back/seconds)
		w.rule(at, top, at, bottom)
		anchor := "middle"
		if back == 0 {
			anchor = "end"
		}
		w.label(at, bottom+12, "soft", anchor, ago(back))
	}
}
