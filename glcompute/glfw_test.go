//go:build cgo && linux && !noglfw

package glcompute

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// servers counts the X servers this process started.
var servers int

// startXvfb starts an X server of its own and puts its display into the
// environment, where GLFW looks. The number of the display is this process's
// own: two servers that look for a free one at the same time can find the same.
func startXvfb(t *testing.T) (display string) {
	t.Helper()
	path, err := exec.LookPath("Xvfb")
	if err != nil {
		missing(t, err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	servers++
	display = fmt.Sprintf(":%d", 100+(os.Getpid()*16+servers)%50_000)
	cmd := exec.Command(path, display, "-displayfd", "3", "-screen", "0", "64x64x24", "-nolisten", "tcp", "-noreset")
	cmd.ExtraFiles = []*os.File{w}
	err = cmd.Start()
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // a killed one leaves its socket and its lock
		cmd.Wait()
	})
	if _, err := bufio.NewReader(r).ReadString('\n'); err != nil { // it listens
		t.Fatalf("Xvfb did not come up: %v", err)
	}
	t.Setenv("DISPLAY", display)
	return display
}

func wantUnavailable(t *testing.T, err error, mentions ...string) {
	t.Helper()
	var unavailable *UnavailableError
	if !errors.As(err, &unavailable) {
		t.Fatalf("got %v, want an UnavailableError", err)
	}
	for _, want := range mentions {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not mention %q: %v", want, err)
		}
	}
}

func TestGLFWComputesUnderXvfb(t *testing.T) {
	display := startXvfb(t)
	// One of each backend at a time, and twice, since GLFW ends with its
	// last window and must start again.
	egl := openDevice(t, Config{Backend: EGL})
	for range 2 {
		d, attempts, err := Open(Config{Backend: GLFW, Display: display})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(attempts)
		if len(attempts) != 1 || d.Info().Way != "glfw" {
			t.Errorf("forced glfw gave %v by %v", d.Info(), attempts)
		}
		second, _, err := Open(Config{Backend: GLFW, Display: display})
		if err != nil {
			t.Fatal(err)
		}
		for _, each := range []*Device{d, second, egl} {
			if err := each.SelfTest(); err != nil {
				t.Error(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		if err := second.SelfTest(); err != nil {
			t.Errorf("after the first window closed: %v", err)
		}
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := onMain(func() error {
		if glfwWindows != 0 {
			t.Errorf("%d windows left", glfwWindows)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

func TestAutoFallsBackToGLFW(t *testing.T) {
	display := startXvfb(t)
	withoutEGL(t)
	d, attempts, err := Open(Config{Display: display})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if len(attempts) != 2 || attempts[0].Err == nil || attempts[1].Err != nil || d.Info().Way != "glfw" {
		t.Errorf("attempts %v", attempts)
	}
}

func TestGLFWWithoutADisplayIsAnError(t *testing.T) {
	_, _, err := Open(Config{Backend: GLFW})
	wantUnavailable(t, err, "no display", "DISPLAY", "XWayland", "egl backend")
}

func TestGLFWWithADisplayThatDoesNotAnswerIsAnError(t *testing.T) {
	const nobody = ":64999"
	t.Setenv("DISPLAY", nobody)
	_, _, err := Open(Config{Backend: GLFW, Display: nobody})
	wantUnavailable(t, err, nobody, "cannot be opened")
}

func TestGLFWWithoutMainSaysSo(t *testing.T) {
	withoutMain(t)
	_, _, err := Open(Config{Backend: GLFW, Display: ":0"})
	wantUnavailable(t, err, "glcompute.Main")
	if !errors.Is(err, ErrNoMain) {
		t.Errorf("%v is not ErrNoMain", err)
	}
}
