package costs

// Line is what a least-squares line of time over slots needs. The zero value has no points.
type Line struct{ n, x, y, xx, xy float64 }

// Add adds a launch of some slots.
func (l *Line) Add(slots, ns float64) {
	l.n++
	l.x += slots
	l.y += ns
	l.xx += slots * slots
	l.xy += slots * ns
}

// Points is of how many launches the line is.
func (l *Line) Points() float64 { return l.n }

// Fit is a and b of time = a + b × slots, in nanoseconds, of which neither is below 0; NaN without points.
func (l *Line) Fit() (a, b float64) {
	if d := l.n*l.xx - l.x*l.x; d > 1e-9*l.n*l.xx {
		b = (l.n*l.xy - l.x*l.y) / d
	}
	b = max(b, 0)
	if a = (l.y - b*l.x) / l.n; a < 0 {
		a, b = 0, l.xy/l.xx
	}
	return a, b
}
