//go:build cgo && linux

package glcompute

import (
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// buildOpener builds testdata/opener in a variant.
func buildOpener(t *testing.T, tags string, env ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "opener")
	cmd := exec.Command("go", "build", "-o", path, "-tags", tags, "./testdata/opener")
	cmd.Env = append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build -tags %q: %v\n%s", tags, err, out)
	}
	return path
}

// runOpener returns what it prints and its exit code.
func runOpener(t *testing.T, path string, env ...string) (output string, code int) {
	t.Helper()
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// glibc are the libraries of the C library itself; before its version 2.34 it
// came in several.
var glibc = regexp.MustCompile(`^(libc|libdl|libpthread|libresolv|ld-linux[-a-z0-9_]*)\.so\.[0-9]+$`)

func TestNoglfwBinaryNeedsLibcOnly(t *testing.T) {
	path := buildOpener(t, "noglfw,egl", "CGO_ENABLED=1")
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	libraries, err := f.ImportedLibraries()
	if err != nil {
		t.Fatal(err)
	}
	t.Log(libraries)
	for _, library := range libraries {
		if !glibc.MatchString(library) {
			t.Errorf("needs %s", library)
		}
	}
	// A symbol that other libraries can see would take the place of libEGL's.
	symbols, err := f.DynamicSymbols()
	if err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(symbols, func(s elf.Symbol) bool { return s.Name == "eglGetProcAddress" }) {
		t.Error("eglGetProcAddress is visible to other libraries")
	}

	out, code := runOpener(t, path, "OPENER_EGL=libEGL-none.so.1")
	if code != 3 || !strings.Contains(out, "libEGL-none.so.1") || !strings.Contains(out, "install libegl1") {
		t.Errorf("without a library: exit %d, %s", code, out)
	}
	out, code = runOpener(t, path, "OPENER_BACKEND=glfw", "DISPLAY=:0")
	if code != 3 || !strings.Contains(out, "noglfw") {
		t.Errorf("forced glfw: exit %d, %s", code, out)
	}
	if out, code = runOpener(t, path); code != 0 {
		missing(t, out)
	}
}

func TestBinaryWithoutCgoSaysSo(t *testing.T) {
	out, code := runOpener(t, buildOpener(t, "", "CGO_ENABLED=0"))
	if code != 3 || !strings.Contains(out, "CGO_ENABLED=1") {
		t.Errorf("exit %d, %s", code, out)
	}
}

// Mesa takes the version it offers from the environment, once in a process;
// another driver ignores it and opens.
func TestDriverThatIsTooOldSaysWhatItOffers(t *testing.T) {
	mesa := strings.Contains(openDevice(t, Config{}).Info().Version, "Mesa")
	path := buildOpener(t, "noglfw,egl", "CGO_ENABLED=1")
	out, code := runOpener(t, path, "OPENER_BACKEND=egl", "MESA_GL_VERSION_OVERRIDE=3.3")
	if !mesa && code == 0 {
		return
	}
	if code != 3 {
		t.Errorf("exit %d, want 3", code)
	}
	for _, want := range []string{"refuses OpenGL 4.3", `offers "3.3`} {
		if !strings.Contains(out, want) {
			t.Errorf("the error does not mention %q: %s", want, out)
		}
	}
}
