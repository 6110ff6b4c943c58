package chart

import "math"

// Point is a value so many seconds before now. A value that is not a number is a gap in its line.
type Point struct{ Ago, Value float64 }

// Line is what a value was over time, the oldest point first.
type Line struct {
	Name   string
	Points []Point
}

// Lines are values of one unit over the last seconds, from 0 up.
type Lines struct {
	Title, Unit string
	Seconds     float64 // how far back the axis goes
	Wide, High  int     // in pixels, with names and axes
	Lines       []Line
}

// Places of a drawing over time, in pixels: the names or values beside the plot, its head, and its foot.
const besides, above, below = 70, 20, 18

// Draw draws the lines over each other, with the last value of each in the head.
func (l *Lines) Draw() string {
	var w writer
	w.begin(l.Wide, l.High)
	w.label(0, 12, "head", "start", l.Title)
	left, top, wide, high := float64(besides), float64(above), float64(l.Wide-besides), float64(l.High-above-below)
	w.timeAxis(left, wide, top, top+high, l.Seconds)
	most := niceAbove(l.most())
	for _, share := range [...]float64{0, .5, 1} {
		y := top + high*(1-share)
		w.rule(left, y, left+wide, y)
		w.label(left-4, y+4, "soft", "end", Number(most*share)+l.Unit)
	}
	for i := range l.Lines {
		l.draw(&w, i, left, top, wide, high, most)
	}
	l.legend(&w)
	return w.end()
}

// draw draws one line. It is interrupted where a value is unknown.
func (l *Lines) draw(w *writer, i int, left, top, wide, high, most float64) {
	w.add(`<path class="line`).colour(i + 1).add(`" d="`)
	move := true
	for _, p := range l.Lines[i].Points {
		if math.IsNaN(p.Value) || p.Ago > l.Seconds || p.Ago < 0 {
			move = true
			continue
		}
		if move {
			w.add("M")
		} else {
			w.add("L")
		}
		w.at(left + wide*(1-p.Ago/l.Seconds)).add(" ").at(top + high*(1-min(p.Value/most, 1)))
		move = false
	}
	w.add(`"/>`)
}

// legend names the lines and their last values, from the right.
func (l *Lines) legend(w *writer) {
	x := float64(l.Wide)
	for i := len(l.Lines) - 1; i >= 0; i-- {
		line := &l.Lines[i]
		text := line.Name
		if n := len(line.Points); n > 0 && !math.IsNaN(line.Points[n-1].Value) {
			text += " " + Number(line.Points[n-1].Value) + l.Unit
		}
		x -= textWidth(text) + 18
		w.add(`<rect class="area`).colour(i + 1).add(`" x="`).at(x).add(`" y="4" width="9" height="9"/>`)
		w.label(x+12, 12, "", "start", text)
	}
}

func (l *Lines) most() (most float64) {
	for _, line := range l.Lines {
		for _, p := range line.Points {
			if p.Value > most && p.Ago <= l.Seconds && !math.IsInf(p.Value, 0) {
				most = p.Value
			}
		}
	}
	return most
}

// niceAbove is the least of 1, 2 and 5 times a power of ten that is not below v, and 1 for nothing.
func niceAbove(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, digit := range [...]float64{1, 2, 5} {
		if v <= digit*power {
			return digit * power
		}
	}
	return 10 * power
}

// textWidth is about how many pixels a text of the drawings' font takes.
func textWidth(text string) float64 { return 6.2 * float64(len([]rune(text))) }
