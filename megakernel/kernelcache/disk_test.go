package kernelcache

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/kernelcache/disk"
)

func openDisk(t *testing.T) *disk.Dir {
	t.Helper()
	d, err := disk.Open(filepath.Join(t.TempDir(), "programs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

// start opens a store, as a process that starts, on a new device of the same kind.
func start(t *testing.T, dir *disk.Dir, changes ...func(*fakeDevice)) *world {
	t.Helper()
	dev := newFake()
	dev.binaries = true
	for _, c := range changes {
		c(dev)
	}
	w := openWorld(t, dev, false, func(c *Config) { c.Disk = dir })
	t.Cleanup(func() { w.close(t) })
	return w
}

func files(t *testing.T, dir *disk.Dir) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir.Path(), "*.prog"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestSecondStartLoadsFromDisk(t *testing.T) {
	dir := openDisk(t)
	first := start(t, dir)
	if p := first.wait(t, "a"); p.FromDisk {
		t.Error("the first start found something")
	}
	second := start(t, dir)
	p := second.wait(t, "a")
	if !p.FromDisk || p.Value != "a" || p.Fingerprint != fingerprint("source of a") {
		t.Errorf("%+v", p)
	}
	if st := second.Stats(); st.Built != 0 || st.Loaded != 1 || st.Refused != 0 || len(second.dev.sources()) != 0 {
		t.Errorf("%+v, compiled %v", st, second.dev.sources())
	}
	if got := strings.Join(second.dev.steps, " "); got != "adopt finish check" {
		t.Errorf("a loaded program went through %s", got)
	}
}

func TestAnotherDriverOrSourceIsAnotherBinary(t *testing.T) {
	dir := openDisk(t)
	start(t, dir).wait(t, "a")
	w := start(t, dir, func(d *fakeDevice) { d.version = "2" })
	if p := w.wait(t, "a"); p.FromDisk {
		t.Error("the binary of another driver was loaded")
	}
	if p := w.wait(t, "b"); p.FromDisk {
		t.Error("the binary of another source was loaded")
	}
	if n := len(files(t, dir)); n != 3 {
		t.Errorf("%d files, want 3", n)
	}
}

// TestUnusableBinaryIsBuiltAgainAndReplaced covers each way in which a binary can be bad.
func TestUnusableBinaryIsBuiltAgainAndReplaced(t *testing.T) {
	for name, spoil := range map[string]struct {
		file   func(t *testing.T, at string)
		device func(*fakeDevice)
		text   string
	}{
		"damaged": {file: func(t *testing.T, at string) { overwrite(t, at, 100) }, text: "checksum"},
		"cut":     {file: func(t *testing.T, at string) { truncate(t, at, 90) }, text: "payload of"},
		"empty":   {file: func(t *testing.T, at string) { truncate(t, at, 0) }, text: "0 bytes"},
		"version": {file: func(t *testing.T, at string) { overwrite(t, at, 8) }, text: "version"},
		"refused": {device: func(d *fakeDevice) { d.refuseBinary = errors.New("wrong GPU") }, text: "wrong GPU"},
		"a link":  {file: func(t *testing.T, at string) { link(t, at) }, text: "no regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := openDisk(t)
			start(t, dir).wait(t, "a")
			if spoil.file != nil {
				spoil.file(t, files(t, dir)[0])
			}
			w := start(t, dir, func(d *fakeDevice) {
				if spoil.device != nil {
					spoil.device(d)
				}
			})
			if p := w.wait(t, "a"); p.FromDisk || len(w.dev.sources()) != 1 {
				t.Errorf("%+v, compiled %v", p, w.dev.sources())
			}
			if st := w.Stats(); st.Refused != 1 || st.Built != 1 || st.Stored != 1 {
				t.Errorf("%+v", st)
			}
			log := w.log.Take()
			if len(log) != 1 || !strings.Contains(log[0], "kernel a") || !strings.Contains(log[0], spoil.text) {
				t.Errorf("log %q, want one line that says %q", log, spoil.text)
			}
			if p := start(t, dir).wait(t, "a"); !p.FromDisk {
				t.Error("the bad file was not replaced")
			}
		})
	}
}

func TestLossDuringALoadLeavesTheBinary(t *testing.T) {
	dir := openDisk(t)
	start(t, dir).wait(t, "a")
	w := start(t, dir, func(d *fakeDevice) { d.refuseBinary = lostError{} })
	w.wait(t, "a")
	if st := w.Stats(); st.Refused != 0 || w.log.Take() != nil || len(files(t, dir)) != 1 {
		t.Errorf("%+v: want the binary kept, and not blamed", st)
	}
}

// TestLoadedProgramThatFailsTheCheckIsBuiltAgain: a driver may take a binary and
// make something else of it.
func TestLoadedProgramThatFailsTheCheckIsBuiltAgain(t *testing.T) {
	dir := openDisk(t)
	start(t, dir).wait(t, "a")
	dev := newFake()
	dev.binaries = true
	dev.misfit = func(string) bool { return len(dev.compiled) == 0 }
	w := openWorld(t, dev, false, func(c *Config) { c.Disk = dir })
	defer w.close(t)
	if p := w.wait(t, "a"); p.FromDisk {
		t.Error("it was used")
	}
	if st := w.Stats(); st.Refused != 1 || len(dev.deleted) != 1 {
		t.Errorf("%+v, deleted %v", st, dev.deleted)
	}
}

func TestDirectoryThatCannotBeWrittenToIsReportedOnce(t *testing.T) {
	dir := openDisk(t)
	w := start(t, dir)
	if err := os.RemoveAll(dir.Path()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"a", "b", "c"} {
		w.wait(t, key)
	}
	log := w.log.Take()
	if len(log) != 1 || !strings.Contains(log[0], dir.Path()) {
		t.Errorf("log %q, want one line with the directory", log)
	}
	if st := w.Stats(); st.Built != 3 || st.Stored != 0 || !w.readOnly {
		t.Errorf("%+v", st)
	}
}

func TestDriverWithoutBinariesLeavesTheDiskAlone(t *testing.T) {
	dir := openDisk(t)
	w := start(t, dir, func(d *fakeDevice) { d.binaries = false })
	w.wait(t, "a")
	if n := len(files(t, dir)); n != 0 || w.log.Take() != nil {
		t.Errorf("%d files", n)
	}
}

func overwrite(t *testing.T, path string, at int) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[at] ^= 0xff
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func truncate(t *testing.T, path string, size int64) {
	t.Helper()
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/dev/zero", path); err != nil {
		t.Fatal(err)
	}
}
