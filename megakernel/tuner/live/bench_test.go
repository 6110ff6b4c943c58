package live

import "testing"

func BenchmarkObserveSteady(b *testing.B) {
	l := load{65_536, 300, 8}
	r := newRing(&simulatedH200, l, 1)
	u, _ := explored(b, &simulatedH200, l, 1)
	report := r.launch(u.Next().Geometry)
	b.ReportAllocs()
	for b.Loop() {
		_ = u.Observe(report)
	}
}

// BenchmarkTakeExploring times a report during an exploration of the largest space, until the
// suggestion is renewed; the next look is chosen afterwards and is not timed.
func BenchmarkTakeExploring(b *testing.B) {
	l := load{1 << 20, 300, 8}
	r := newRing(&simulatedH200, l, 1)
	s := simulatedH200.space(l)
	u := New(Config{Space: s})
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		u.Think()
		if u.Over() {
			u = New(Config{Space: s})
		}
		report := r.launch(u.Next().Geometry)
		b.StartTimer()
		_ = u.Take(report)
	}
}

// BenchmarkObserveExploring times the launches of a whole exploration of the largest space. For a software
// renderer the model is fitted before each look.
func BenchmarkObserveExploring(b *testing.B) {
	for name, d := range map[string]*machine{"hardware": &simulatedH200, "software": &simulatedLlvmpipe} {
		b.Run(name, func(b *testing.B) {
			l := load{1 << 20, 300, 8}
			r := newRing(d, l, 1)
			s := d.space(l)
			u := New(Config{Space: s})
			b.ReportAllocs()
			for b.Loop() {
				if u.Over() {
					u = New(Config{Space: s})
				}
				_ = u.Observe(r.launch(u.Next().Geometry))
			}
		})
	}
}
