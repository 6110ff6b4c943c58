package chart

import (
	"strings"
	"testing"
)

func TestBandsStandWhereTheirTimeIs(t *testing.T) {
	b := Bands{Title: "topology", Seconds: 100, Wide: besides + 1000, Bands: []Band{{Name: "a<b", Spans: []Span{
		{From: 500, To: 150}, // long gone
		{From: 200, To: 50, Label: "dense", Title: `"quoted"`}, // half of the axis
		{From: 50, To: 0, Colour: 9, Link: "/q?decision=1&x=2"},
	}}}}
	text := File(b.Draw())
	if got := strings.Join(all(t, text, "rect", "x"), " "); got != "70.0 570.0" {
		t.Errorf("bands at %s", got)
	}
	if got := strings.Join(all(t, b.Draw(), "rect", "width"), " "); got != "500.0 500.0" {
		t.Errorf("widths %s", got)
	}
	if got := strings.Join(all(t, text, "a", "href"), " "); got != "/q?decision=1&x=2" {
		t.Errorf("links %s", got)
	}
	for _, want := range []string{">dense<", "a&lt;b", `class="area c1"`, ">−60 s<", ">now<"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestNumbersHaveThreeDigitsAndAPrefix(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 1: "1", 999: "999", 1250: "1.25 k", 2e6: "2 M", 3e15: "3e+03 T", .00083: "830 µ", 1e-12: "0.001 n", -1500: "-1.5 k", 999.6: "1 k", 999_999: "1 M", .0009999: "1 m"} {
		if got := number(v); got != want {
			t.Errorf("%v is %q, want %q", v, got, want)
		}
	}
}

func BenchmarkStrip(b *testing.B) {
	var spans []Span
	for i := range 20 {
		spans = append(spans, Span{From: float64(600 - 30*i), To: float64(570 - 30*i), Colour: i, Title: "dense_frontier: 255 groups of 256"})
	}
	for b.Loop() {
		Strip(spans, 600, 200, 14)
	}
}
