package live

import "math"

// watch says whether the time of the incumbent has changed, by Page's two-sided
// cumulative sum (Biometrika 41, 1954).
type watch struct {
	n        int     // launches that level is the mean of
	level    float64 // logarithm of the time that is expected
	off      float64 // mean size of these launches
	up, down float64
}

// watched takes a launch of the incumbent, and says whether its time has changed.
func (t *Tuner) watched(l launch) (changed bool) {
	w, noise := &t.watch, t.noise.sd()
	t.size.fold(l)
	if t.before.ran {
		t.noise.fold(l.y - t.before.y)
	}
	t.before = l
	if w.n < settleIn {
		w.n++
		d := l.y - w.level
		if w.n > 2 {
			d = clip(d, 3*noise)
		}
		w.level += d / float64(w.n)
		w.off += (l.off - w.off) / float64(w.n)
		return false
	}
	d := l.y - w.level
	z := clip(d/math.Sqrt(noise*noise*(1+1./settleIn)+t.size.doubt(l.off-w.off, noise)), outlier)
	w.up, w.down = math.Max(w.up+z-allowance, 0), math.Max(w.down-z-allowance, 0)
	w.level += levelGain * clip(d, 2*noise)
	w.off += levelGain * (l.off - w.off)
	return w.up > alarm || w.down > alarm
}

// normalise converts a report to the usual size of a launch of its geometry.
func (t *Tuner) normalise(r *Report) launch {
	usual := t.space.slots
	if d := r.Geometry.Depth; d != 0 && r.Slots <= d {
		usual = min(usual, d)
	}
	off := math.Log(float64(r.Slots) / float64(usual))
	beta, _ := t.size.of(t.noise.sd())
	raw := math.Log(float64(r.Ns))
	return launch{ran: true, raw: raw, y: raw - math.Log(float64(r.Slots)) + (1-beta)*off, off: off}
}

// slope learns how the logarithm of a launch's time grows with that of its slots.
type slope struct {
	n, x, y, xx, xy float64 // decayed count, means and centred sums
}

// fold takes a launch.
func (s *slope) fold(l launch) {
	const keep = 1 - 1./noiseMemory
	s.n = s.n*keep + 1
	dx, dy := l.off-s.x, l.raw-s.y
	s.x += dx / s.n
	s.y += dy / s.n
	s.xx = s.xx*keep + dx*(l.off-s.x)
	s.xy = s.xy*keep + dx*(l.raw-s.y)
}

// of returns the slope and the variance of its error under a relative noise.
func (s *slope) of(noise float64) (beta, variance float64) {
	known := s.xx / (noise * noise)
	precision := 1/slopeVariance + known
	beta = slopePrior / slopeVariance
	if s.xx > 0 {
		beta += s.xy / s.xx * known
	}
	return math.Max(math.Min(beta/precision, 1.2), 0), 1 / precision
}

// doubt is the variance of a difference of two launches whose sizes differ by so much.
func (s *slope) doubt(away, noise float64) float64 {
	_, variance := s.of(noise)
	v := variance * away * away
	if math.Abs(away) > farSize {
		v += away * away
	}
	return v
}
