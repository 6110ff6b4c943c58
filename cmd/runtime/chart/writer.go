package chart

import (
	"html"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// writer appends the text of a drawing. A page draws hundreds a second, so nothing here goes through a format.
type writer struct{ text []byte }

// begin opens a drawing of a size in pixels. It scales with its place, so that a narrow screen has all of it.
func (w *writer) begin(wide, high int) {
	w.add(`<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 `).int(wide).add(" ").int(high)
	w.add(`" width="`).int(wide).add(`" height="`).int(high).add(`" role="img">`)
}

// end closes the drawing.
func (w *writer) end() string { return string(append(w.text, "</svg>\n"...)) }

func (w *writer) add(text string) *writer { w.text = append(w.text, text...); return w }

func (w *writer) int(n int) *writer { w.text = strconv.AppendInt(w.text, int64(n), 10); return w }

// at is a place in pixels, with a tenth.
func (w *writer) at(v float64) *writer { w.text = strconv.AppendFloat(w.text, v, 'f', 1, 64); return w }

// name is text from elsewhere.
func (w *writer) name(text string) *writer { return w.add(html.EscapeString(strings.Map(inXML, text))) }

// inXML is a character, or what stands for one that XML has no form for: a single one would make a file of a drawing
// none.
func inXML(r rune) rune {
	if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
		return unicode.ReplacementChar
	}
	return r
}

// label writes text at a place; anchor is start, middle or end.
func (w *writer) label(x, y float64, class, anchor, text string) {
	w.add(`<text x="`).at(x).add(`" y="`).at(y).add(`" class="`).add(class).add(`" text-anchor="`).add(anchor).add(`">`).name(text).add("</text>")
}

// rule draws a thin line from one place to another.
func (w *writer) rule(x1, y1, x2, y2 float64) {
	w.add(`<path class="rule" d="M`).at(x1).add(" ").at(y1).add("L").at(x2).add(" ").at(y2).add(`"/>`)
}

// colour is the class of the colour of that number.
func (w *writer) colour(n int) *writer { return w.add(" c").int(((n % Colours) + Colours) % Colours) }

// number is a value in three digits, with the SI prefix of its size: 1.25 k, 830 µ.
func number(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	prefixes := [...]string{" n", " µ", " m", "", " k", " M", " G", " T"}
	const one = 3 // the place of no prefix
	_, digits, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
	exponent, _ := strconv.Atoi(digits) // of the value in three digits: 999.6 is 1 k
	k := int(math.Floor(float64(exponent) / 3))
	k = max(min(k, len(prefixes)-1-one), -one)
	scaled := v / math.Pow(1000, float64(k))
	return strconv.FormatFloat(scaled, 'g', 3, 64) + prefixes[k+one]
}
