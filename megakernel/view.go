package megakernel

import (
	_ "embed"
	"fmt"
	"image"
	"image/color"
	"strings"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

//go:embed view.frag
var viewShader string

// stateColours are the colours of a slot by its state, in the order of the states.
var stateColours = [...]color.RGBA{
	ring.Empty:     {28, 32, 38, 255},
	ring.Published: {240, 190, 60, 255},
	ring.Claimed:   {80, 160, 255, 255},
	ring.Done:      {50, 120, 85, 255},
	ring.Yielded:   {150, 110, 220, 255},
	ring.Requeued:  {225, 120, 190, 255},
	ring.Fault:     {230, 70, 60, 255},
}

// StateColour is the colour of a slot in the ring's picture.
func StateColour(s ring.State) color.RGBA {
	if int(s) < len(stateColours) {
		return stateColours[s]
	}
	return color.RGBA{A: 255}
}

// View is the ring as a picture: a pixel for each slot, row by row.
type View struct {
	Area  image.Rectangle // of the window, from its upper left corner
	Slots int             // of the ring; those beyond the area are not shown
}

// Source is the fragment shader that draws the view from the status words on
// the device, with an overlay above it: what the overlay leaves transparent
// shows the view.
func (v *View) Source() string {
	var b strings.Builder
	b.WriteString("#version 430 core\n")
	b.WriteString(ring.Prelude())
	fmt.Fprintf(&b, "const ivec4 VIEW_AREA = ivec4(%d, %d, %d, %d);\n", v.Area.Min.X, v.Area.Min.Y, v.Area.Max.X, v.Area.Max.Y)
	fmt.Fprintf(&b, "const int VIEW_SLOTS = %d;\n", v.Slots)
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

// Statuses is the device's buffer of status words, a word for each slot of the
// ring, for a picture of it. It changes with Move. Once somebody has asked for it, every
// launch runs as a wave that works on it: small ones too, and none on a lease.
func (e *Engine) Statuses() (buffer gpu.Buffer, slots int) {
	e.exec.watched.Store(true)
	return gpu.Buffer{Buffer: e.exec.statuses.Load()}, e.cfg.Pages * ring.PageSlots
}
