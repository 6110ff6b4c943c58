package main

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"log/slog"
	"slices"
	"strings"
	"time"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/text"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/glcompute"
	"ringmaster/megakernel"
	"ringmaster/megakernel/debugview"
	"ringmaster/ring"
)

// The window: a panel of text above the ring, a pixel for each slot.
const (
	windowWidth  = 1024
	panelHeight  = 330
	windowHeight = panelHeight + 256
	lineHeight   = 16
	framePeriod  = 50 * time.Millisecond
)

var (
	panelColour = color.RGBA{18, 20, 24, 255}
	textColour  = color.RGBA{205, 210, 215, 255}
	dimColour   = color.RGBA{130, 138, 146, 255}
)

// forWindow chooses what a window needs.
func (c *runCmd) forWindow() error {
	switch {
	case c.DecideOnly:
		return errors.New("--window shows the ring on a GPU, --decide-only has none: leave one of them out")
	case c.GL.Backend == "egl" || c.Device != "":
		return errors.New("--window needs a context of the window system, which --gl egl and --device do not give: leave them out")
	}
	c.GL.Backend = "glfw"
	return nil
}

// ringView shows a node's ring in a window of its device's share group.
type ringView struct {
	window *glcompute.Window
	ring   *megakernel.Engine
	system *actors.System
	title  string
	panel  *image.RGBA

	last     time.Time
	executed map[string]uint64  // by queue, at the last frame
	rates    map[string]float64 // slots/s, smoothed
}

// showRing opens the window and draws until quit is closed, the user closes the
// window, or it fails, which is logged: the ring goes on without it. The
// result stops it.
func showRing(device *glcompute.Device, n *worker.Node, worker string, log *slog.Logger) (stop func(), err error) {
	_, slots := n.Engine().Ring().Statuses()
	picture := debugview.Shader(image.Rect(0, panelHeight, windowWidth, windowHeight), slots)
	size := image.Pt(windowWidth, windowHeight)
	w, err := glcompute.OpenWindow(device, "ringmaster: "+worker, size, picture)
	if err != nil {
		return nil, err
	}
	v := &ringView{
		window: w, ring: n.Engine().Ring(), system: n.System(), title: worker + " on " + n.DeviceName(),
		panel: image.NewRGBA(image.Rectangle{Max: size}), executed: map[string]uint64{}, rates: map[string]float64{},
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		if err := v.run(quit); err != nil {
			log.Warn("the window is closed, the ring goes on", "error", err)
		}
		if err := w.Close(); err != nil {
			log.Warn("close the window", "error", err)
		}
	}()
	return func() { close(quit); <-done }, nil
}

func (v *ringView) run(quit <-chan struct{}) error {
	ticker := time.NewTicker(framePeriod)
	defer ticker.Stop()
	for !v.window.Closed() {
		v.paint(time.Now())
		buffer, slots := v.ring.Statuses()
		if err := v.window.Draw(v.panel, glcompute.StorageRange{Binding: ring.BindStatus, Buffer: buffer, Size: slots * ring.WordBytes}); err != nil {
			return err
		}
		select {
		case <-quit:
			return nil
		case <-ticker.C:
		}
	}
	return nil
}

// paint draws the panel.
func (v *ringView) paint(now time.Time) {
	draw.Draw(v.panel, image.Rect(0, 0, windowWidth, panelHeight), image.NewUniform(panelColour), image.Point{}, draw.Src)
	stats := v.ring.Stats()
	total := v.measure(now, stats.Queues)
	y := lineHeight
	v.text(10, y, textColour, v.title)
	v.text(560, y, textColour, fmt.Sprintf("%s slots/s   %d pending   %d in flight   %d pages free", text.Grouped(uint64(total)), stats.Pending, stats.InFlight, stats.FreePages))
	y += lineHeight + 6
	v.legend(y)
	y += lineHeight + 6
	colour := dimColour
	for line := range strings.Lines(text.Table(append(slices.Clone(planHeader), "SLOTS/S", "EXECUTED", "FAULTED", "LAUNCHES"), v.rows(stats.Queues))) {
		v.text(10, y, colour, strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "×", "x")) // the font is ASCII
		y, colour = y+lineHeight, textColour
	}
	v.classes(panelHeight-lineHeight*ring.Priorities-6, stats.Queues)
}

// maxWindowRows is how many queues there is room for.
const maxWindowRows = 8

// rows are the queues that the ring knows, the busiest first.
func (v *ringView) rows(queues []megakernel.QueueSnapshot) (rows [][]string) {
	slices.SortFunc(queues, func(a, b megakernel.QueueSnapshot) int {
		return cmp.Or(cmp.Compare(b.Executed, a.Executed), strings.Compare(a.Name, b.Name))
	})
	decided := make(map[string]actors.QueueStatus)
	for _, status := range v.system.Queues() {
		decided[status.Queue] = status
	}
	for _, q := range queues[:min(len(queues), maxWindowRows)] {
		status := decided[q.Name]
		if !status.Decided {
			status.Recommendation.Error = "not decided yet"
		}
		row := planCells(q.Name, &status.Recommendation)
		rows = append(rows, append(row, text.Grouped(uint64(v.rates[q.Name])), text.Grouped(q.Executed), text.Grouped(q.Faulted), text.Grouped(status.Launches)))
	}
	return rows
}

// measure updates the rates and returns their sum.
func (v *ringView) measure(now time.Time, queues []megakernel.QueueSnapshot) float64 {
	elapsed := now.Sub(v.last).Seconds()
	first := v.last.IsZero()
	v.last = now
	total := 0.0
	executed, rates := make(map[string]uint64, len(queues)), make(map[string]float64, len(queues))
	for i := range queues {
		q := &queues[i]
		executed[q.Name], rates[q.Name] = q.Executed, v.rates[q.Name]
		if !first && elapsed > 0 {
			before := v.executed[q.Name]
			if before > q.Executed {
				before = 0 // its window was another queue's meanwhile
			}
			rate := float64(q.Executed-before) / elapsed
			rates[q.Name] += (rate - v.rates[q.Name]) * min(1, elapsed)
		}
		total += rates[q.Name]
	}
	v.executed, v.rates = executed, rates // of those that are there: names come and go
	return total
}

// legend names the colours of the states.
func (v *ringView) legend(y int) {
	x := 10
	for s := ring.Empty; s <= ring.Fault; s++ {
		box := image.Rect(x, y-10, x+10, y)
		draw.Draw(v.panel, box, image.NewUniform(debugview.Colour(s)), image.Point{}, draw.Src)
		v.text(x+15, y, dimColour, s.String())
		x += 30 + 7*len(s.String())
	}
	v.text(x+20, y, dimColour, "below: the status of every slot, a page is a quarter of a row")
}

// classes shows how much waits in each priority class.
func (v *ringView) classes(y int, queues []megakernel.QueueSnapshot) {
	var waiting [ring.Priorities]int
	for i := range queues {
		for p, n := range queues[i].Classes {
			waiting[p] += n
		}
	}
	for p, n := range waiting {
		v.text(10, y, dimColour, fmt.Sprintf("%-9s %s waiting", slots.Priorities[p], text.Grouped(n)))
		y += lineHeight
	}
}

func (v *ringView) text(x, y int, c color.Color, s string) {
	d := font.Drawer{Dst: v.panel, Src: image.NewUniform(c), Face: basicfont.Face7x13, Dot: fixed.P(x, y)}
	d.DrawString(s)
}
