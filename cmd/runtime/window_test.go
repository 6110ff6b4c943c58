//go:build cgo && linux && !noglfw

package main

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/megakernel/debugview"
	"ringmaster/ring"
)

// startScreen starts an X server that keeps its screen in a file. The number of
// the display is this process's own: two servers that look for a free one at the
// same time can find the same.
func startScreen(t *testing.T) (file string) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	dir := t.TempDir()
	display := fmt.Sprintf(":%d", 100+(os.Getpid()*16)%50_000)
	server := exec.Command("Xvfb", display, "-displayfd", "3", "-screen", "0", "1100x700x24", "-nolisten", "tcp", "-noreset", "-fbdir", dir)
	server.ExtraFiles = []*os.File{w}
	err = server.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Process.Signal(syscall.SIGTERM) // a killed one leaves its socket and its lock
		server.Wait()
	})
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil { // it listens
		t.Fatalf("Xvfb did not come up: %v", err)
	}
	t.Setenv("DISPLAY", display)
	return filepath.Join(dir, "Xvfb_screen0")
}

// screenshot reads a screen file, which is an X window dump: 25 words of header,
// of which the 1st is its size, the 5th and 6th are width and height, the 13th the
// bytes of a row and the 20th the number of colours, 12 bytes each; then rows of
// blue, green, red and nothing.
func screenshot(t *testing.T, file string) *image.RGBA {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	word := func(i int) int { return int(binary.BigEndian.Uint32(data[4*i:])) }
	width, height, row := word(4), word(5), word(12)
	pixels := data[word(0)+12*word(19):]
	shot := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			p := pixels[y*row+4*x:]
			shot.SetRGBA(x, y, color.RGBA{p[2], p[1], p[0], 255})
		}
	}
	return shot
}

// count is how many pixels of a colour an area of the screen has.
func count(shot *image.RGBA, area image.Rectangle, c color.RGBA) int {
	n := 0
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			if shot.RGBAAt(x, y) == c {
				n++
			}
		}
	}
	return n
}

// awaitScreen takes screenshots until one is as wanted.
func awaitScreen(t *testing.T, file string, wanted func(*image.RGBA) bool) {
	t.Helper()
	for tick := time.Tick(framePeriod); ; <-tick {
		if wanted(screenshot(t, file)) {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal("the screen never showed it")
		}
	}
}

func TestTheWindowShowsTheRingAndFollowsItsWork(t *testing.T) {
	requireGL(t)
	screen := startScreen(t)
	s := serve(t, "--window")
	panel, slots := image.Rect(0, 0, windowWidth, panelHeight), image.Rect(0, panelHeight, windowWidth, windowHeight)
	table := image.Rect(0, 5*lineHeight, windowWidth, 10*lineHeight)
	awaitScreen(t, screen, func(shot *image.RGBA) bool {
		return count(shot, slots, debugview.Colour(ring.Empty)) == slots.Dx()*slots.Dy() &&
			count(shot, panel, textColour) > 0 && count(shot, table, textColour) == 0
	})
	got := ringmaster(t, t.Context(), "", "publish", "trace", "--work", "--nats", s.url, "--worker", "w1", "--limit", "1m", "--speed", "200")
	if got.code != 0 {
		t.Fatalf("publish: exit code %d, %s", got.code, got.err)
	}
	// Slots that ran are green, and the table has rows of queues.
	awaitScreen(t, screen, func(shot *image.RGBA) bool {
		return count(shot, slots, debugview.Colour(ring.Done)) > 1000 && count(shot, table, textColour) > 0
	})
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	awaitScreen(t, screen, func(shot *image.RGBA) bool { return count(shot, panel, textColour) == 0 })
}

func TestAWindowWithoutADisplayOrWithoutAGPUIsRefused(t *testing.T) {
	t.Setenv("DISPLAY", "")
	for want, args := range map[string][]string{
		"no display":    {"run", "--window"},
		"--decide-only": {"run", "--window", "--decide-only"},
		"--gl egl":      {"run", "--window", "--gl", "egl"},
	} {
		got := ringmaster(t, t.Context(), "", append(args, "--listen", "127.0.0.1:0", "--store", t.TempDir())...)
		if got.code != 1 || !strings.Contains(got.err, want) {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
}
