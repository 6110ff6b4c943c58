package debugview

import (
	_ "embed"
	"fmt"
	"image"
	"image/color"
	"strings"

	"ringmaster/ring"
)

//go:embed view.frag
var viewShader string

// stateColours are the colours of a slot by its state, in the order of the states.
var stateColours = [...]color.RGBA{
	ring.Empty:     {28, 32, 38, 255},
	ring.Published: {240, 190, 60, 255},
	ring.Done:      {50, 120, 85, 255},
	ring.Yielded:   {150, 110, 220, 255},
	ring.Requeued:  {225, 120, 190, 255},
	ring.Fault:     {230, 70, 60, 255},
}

// Colour is the colour of a slot by its state.
func Colour(s ring.State) color.RGBA {
	if int(s) < len(stateColours) {
		return stateColours[s]
	}
	return color.RGBA{A: 255}
}

// Shader is a fragment shader that draws the ring as a picture: a pixel for each slot, row
// by row, coloured by its status word on the device. The picture fills an area of the
// window, measured from its upper left corner; slots beyond the area are not shown. What
// the overlay above it leaves transparent shows the picture.
func Shader(area image.Rectangle, slots int) string {
	var b strings.Builder
	b.WriteString("#version 430 core\n")
	b.WriteString(ring.Prelude())
	fmt.Fprintf(&b, "const ivec4 VIEW_AREA = ivec4(%d, %d, %d, %d);\n", area.Min.X, area.Min.Y, area.Max.X, area.Max.Y)
	fmt.Fprintf(&b, "const int VIEW_SLOTS = %d;\n", slots)
	fmt.Fprintf(&b, "const vec3 VIEW_COLOURS[%d] = vec3[](", len(stateColours))
	for i, c := range stateColours {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "vec3(%d.0, %d.0, %d.0) / 255.0", c.R, c.G, c.B)
	}
	b.WriteString(");\n")
	b.WriteString(viewShader)
	return b.String()
}
