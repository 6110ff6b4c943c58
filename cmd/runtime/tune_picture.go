package main

import (
	"bytes"
	"errors"
	"fmt"
	"image/color"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"ringmaster/megakernel/tuner/live"
)

// errPicture says that a picture cannot be written, or is neither PNG nor SVG.
var errPicture = errors.New("tune: no picture can be written there")

// Size of a panel and of the pictures' dots.
const (
	plotWidth   = 3.4 * vg.Inch
	plotHeight  = 2.9 * vg.Inch
	plotsAcross = 3
	legendWidth = 1.3 * vg.Inch
	titleHeight = 0.55 * vg.Inch
	pictureDPI  = 110
)

// checkPicture refuses an unusable path before anything is measured for the picture. It does
// not change an existing file.
func checkPicture(path string) error {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".png", ".svg":
	default:
		return fmt.Errorf("%w: %s: the name has to end in .png or .svg", errPicture, path)
	}
	_, err := os.Stat(path)
	isNew := errors.Is(err, os.ErrNotExist)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("%w: %w", errPicture, err)
	}
	f.Close()
	if isNew {
		os.Remove(path)
	}
	return nil
}

// writePicture draws the measured times over the geometry, in the form that the
// path's ending names.
func writePicture(path string, t *tuned) error {
	panels := picturePanels(t)
	across := min(len(panels), plotsAcross)
	down := (len(panels) + across - 1) / across
	width := vg.Length(across)*plotWidth + legendWidth
	height := vg.Length(down)*plotHeight + titleHeight
	var data bytes.Buffer
	if strings.EqualFold(filepath.Ext(path), ".svg") {
		c := vgsvg.NewWith(vgsvg.UseWH(width, height))
		drawPicture(draw.New(c), t, panels, across, down)
		if _, err := c.WriteTo(&data); err != nil {
			return fmt.Errorf("%w: %w", errPicture, err)
		}
	} else {
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(pictureDPI))
		drawPicture(draw.New(c), t, panels, across, down)
		if _, err := (vgimg.PngCanvas{Canvas: c}).WriteTo(&data); err != nil {
			return fmt.Errorf("%w: %w", errPicture, err)
		}
	}
	if err := os.WriteFile(path, data.Bytes(), 0o644); err != nil {
		return fmt.Errorf("%w: %w", errPicture, err)
	}
	return nil
}

// panel is the measurements of one workgroup width.
type panel struct {
	width uint32
	plot  *plot.Plot
}

// picturePanels makes a plot for each width: time per slot over workgroups, with a line for
// each chunk. All plots have the same axes. A geometry that was measured at several depths is
// shown with its shortest time.
func picturePanels(t *tuned) []panel {
	best := make(map[live.Geometry]float64)
	var widths, chunks []uint32
	axes := newPictureAxes()
	for _, r := range t.Rows {
		g := r.Geometry()
		g.Depth = 0
		if was, ok := best[g]; !ok || r.MedianNs < was {
			best[g] = r.MedianNs
		}
		axes.include(float64(g.Groups), r.MedianNs/float64(t.Slots))
		widths, chunks = append(widths, g.Width), append(chunks, g.Chunk)
	}
	slices.Sort(widths)
	slices.Sort(chunks)
	widths, chunks = slices.Compact(widths), slices.Compact(chunks)
	var panels []panel
	for _, w := range widths {
		p := axes.plot()
		p.Title.Text = fmt.Sprintf("width %d", w)
		for i, c := range chunks {
			var at plotter.XYs
			for g, ns := range best {
				if g.Width == w && g.Chunk == c {
					at = append(at, plotter.XY{X: float64(g.Groups), Y: ns / float64(t.Slots)})
				}
			}
			slices.SortFunc(at, func(a, b plotter.XY) int { return int(math.Copysign(1, a.X-b.X)) })
			addLine(p, at, chunkColor(i, len(chunks)), t.Strategy == strategySweep)
		}
		if chosen := t.chosen(); chosen != nil && chosen.Width == w {
			addChosen(p, float64(chosen.Groups), chosen.MedianNs/float64(t.Slots))
		}
		panels = append(panels, panel{w, p})
	}
	return panels
}

// addLine adds the points of a chunk, connected if they are a whole sweep.
func addLine(p *plot.Plot, at plotter.XYs, c color.Color, joined bool) {
	if len(at) == 0 {
		return
	}
	if line, err := plotter.NewLine(at); err == nil && joined {
		line.Color, line.Width = c, vg.Points(1.2)
		p.Add(line)
	}
	if dots, err := plotter.NewScatter(at); err == nil {
		dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.2), Shape: draw.CircleGlyph{}}
		p.Add(dots)
	}
}

var chosenColor = color.RGBA{R: 0xd6, G: 0x20, B: 0x20, A: 0xff}

// addChosen rings the chosen point.
func addChosen(p *plot.Plot, x, y float64) {
	if dot, err := plotter.NewScatter(plotter.XYs{{X: x, Y: y}}); err == nil {
		dot.GlyphStyle = draw.GlyphStyle{Color: chosenColor, Radius: vg.Points(6), Shape: boldRing{}}
		p.Add(dot)
	}
}

// boldRing is a ring with a line thick enough to stand out.
type boldRing struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (boldRing) DrawGlyph(c *draw.Canvas, style draw.GlyphStyle, at vg.Point) {
	c.SetLineStyle(draw.LineStyle{Color: style.Color, Width: vg.Points(2)})
	var p vg.Path
	p.Move(vg.Point{X: at.X + style.Radius, Y: at.Y})
	p.Arc(at, style.Radius, 0, 2*math.Pi)
	p.Close()
	c.Stroke(p)
}

// drawPicture lays panels, legend and title out.
func drawPicture(c draw.Canvas, t *tuned, panels []panel, across, down int) {
	c.FillPolygon(color.White, []vg.Point{c.Min, {X: c.Max.X, Y: c.Min.Y}, c.Max, {X: c.Min.X, Y: c.Max.Y}})
	title := panels[0].plot.Title.TextStyle
	title.Font.Size = vg.Points(12)
	title.XAlign, title.YAlign = draw.XCenter, draw.YTop
	c.FillText(title, vg.Point{X: c.Center().X, Y: c.Max.Y - vg.Points(4)}, t.pictureTitle())

	grid := make([][]*plot.Plot, down)
	for i := range grid {
		grid[i] = make([]*plot.Plot, across)
		for j := range grid[i] {
			if n := i*across + j; n < len(panels) {
				grid[i][j] = panels[n].plot
			}
		}
	}
	area := draw.Crop(c, vg.Points(6), -legendWidth, vg.Points(6), -titleHeight)
	tiles := draw.Tiles{Rows: down, Cols: across, PadX: vg.Points(8), PadY: vg.Points(8)}
	for i, row := range plot.Align(grid, tiles, area) {
		for j, canvas := range row {
			if grid[i][j] != nil {
				grid[i][j].Draw(canvas)
			}
		}
	}
	drawLegend(draw.Crop(c, c.Max.X-c.Min.X-legendWidth, 0, vg.Points(40), -titleHeight), t)
}

// drawLegend names the chunks' colours.
func drawLegend(c draw.Canvas, t *tuned) {
	legend := plot.NewLegend()
	legend.Top, legend.Left = true, true
	legend.TextStyle.Font.Size = vg.Points(9)
	legend.Padding = vg.Points(3)
	var chunks []uint32
	for _, r := range t.Rows {
		chunks = append(chunks, r.Chunk)
	}
	slices.Sort(chunks)
	chunks = slices.Compact(chunks)
	for i, chunk := range chunks {
		legend.Add(fmt.Sprintf("%d", chunk), glyphThumbnail{draw.GlyphStyle{Color: chunkColor(i, len(chunks)), Radius: vg.Points(3), Shape: draw.CircleGlyph{}}})
	}
	legend.Add("chosen", glyphThumbnail{draw.GlyphStyle{Color: chosenColor, Radius: vg.Points(4), Shape: boldRing{}}})
	head := legend.TextStyle
	head.YAlign = draw.YTop
	c.FillText(head, vg.Point{X: c.Min.X, Y: c.Max.Y}, "slots of a\nclaim (chunk)")
	legend.Draw(draw.Crop(c, 0, 0, 0, -vg.Points(28)))
}

// glyphThumbnail is a dot in the legend.
type glyphThumbnail struct{ draw.GlyphStyle }

// Thumbnail implements plot.Thumbnailer.
func (g glyphThumbnail) Thumbnail(c *draw.Canvas) { c.DrawGlyph(g.GlyphStyle, c.Center()) }

// viridis are stops of the perceptually uniform colour map of that name, by
// S. van der Walt and N. Smith, without its lightest tenth.
var viridis = [...]color.RGBA{
	{0x44, 0x01, 0x54, 0xff}, {0x41, 0x44, 0x87, 0xff}, {0x2a, 0x78, 0x8e, 0xff}, {0x22, 0xa8, 0x84, 0xff}, {0x7a, 0xd1, 0x51, 0xff}, {0xd8, 0xc0, 0x1a, 0xff},
}

// chunkColor is the colour of the i-th of n chunks.
func chunkColor(i, n int) color.Color {
	at := 0.0
	if n > 1 {
		at = float64(i) / float64(n-1) * float64(len(viridis)-1)
	}
	k := min(int(at), len(viridis)-2)
	f := at - float64(k)
	mix := func(a, b uint8) uint8 { return uint8(math.Round(float64(a)*(1-f) + float64(b)*f)) }
	a, b := viridis[k], viridis[k+1]
	return color.RGBA{mix(a.R, b.R), mix(a.G, b.G), mix(a.B, b.B), 0xff}
}
