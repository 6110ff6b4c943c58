package chart

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
)

// circles are the places of the marks that were drawn; the text has to be XML.
func circles(t *testing.T, text string) []string { return all(t, text, "circle", "cx") }

// all are the values of an attribute of the elements of a name; the text has to be XML.
func all(t *testing.T, text, name, attribute string) (x []string) {
	t.Helper()
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return x
		}
		if err != nil {
			t.Fatal(err)
		}
		if e, ok := token.(xml.StartElement); ok && e.Name.Local == name {
			for _, a := range e.Attr {
				if a.Name.Local == attribute {
					x = append(x, a.Value)
				}
			}
		}
	}
}

func TestMarksStandWhereTheirLogarithmIs(t *testing.T) {
	drawing := Panels{Title: "a <title>", Unit: "ms", Columns: 3, Panels: []Panel{{Title: "one & two", Marks: []Mark{
		{"least", 1, 1, 1, false}, {"middle", 1, 10, 100, true}, {"most", 100, 100, 100, false},
		{"never", 0, 0, 0, false}, {"failed", math.NaN(), math.NaN(), math.NaN(), false}, {"endless", 1, 2, math.Inf(1), false},
	}}}}
	text := File(drawing.Draw())
	got := strings.Join(circles(t, text), " ")
	if want := "120.0 235.0 350.0"; got != want {
		t.Errorf("marks at %s, want %s", got, want)
	}
	if !strings.Contains(text, "a &lt;title&gt;") || !strings.Contains(text, "one &amp; two") {
		t.Error("names are not escaped")
	}
}

// A file of a drawing is XML, of which one character that it has no form for is the end.
func TestADrawingIsXMLWhateverItsNames(t *testing.T) {
	const hostile = "a\x00\x1b[31m\x7f\u009b\uffff\xff"
	panels := Panels{Title: hostile, Unit: hostile, Panels: []Panel{{Title: hostile, Marks: []Mark{{hostile, 1, 2, 3, true}}}}}
	bands := Bands{Title: hostile, Seconds: 10, Wide: 900, Bands: []Band{{Name: hostile, Spans: []Span{{From: 9, Label: hostile, Title: hostile, Link: hostile}}}}}
	if x := circles(t, File(panels.Draw())); len(x) != 1 {
		t.Errorf("%v", x)
	}
	if links := all(t, File(bands.Draw()), "a", "href"); len(links) != 1 || strings.ContainsAny(links[0], "\x1b\u009b") {
		t.Errorf("%q", links)
	}
}

func TestNothingIsDrawnOfNothing(t *testing.T) {
	for _, panels := range [][]Panel{nil, {{}}, {{Title: "t", Marks: []Mark{{Name: "n"}}}}} {
		drawing := Panels{Unit: "ms", Panels: panels}
		if x := circles(t, drawing.Draw()); len(x) != 0 {
			t.Errorf("%v", x)
		}
	}
}
