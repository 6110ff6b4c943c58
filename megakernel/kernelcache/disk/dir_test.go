package disk

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func open(t *testing.T) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "a", "programs"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func store(t *testing.T, d *Dir, name Name, b Binary) {
	t.Helper()
	if err := d.Store(name, b); err != nil {
		t.Fatal(err)
	}
}

func path(d *Dir, name Name) string { return filepath.Join(d.Path(), fileName(name)) }

var (
	someName = NameOf("vendor", "renderer", "version", "source")
	some     = Binary{Format: 0x8E21, Data: []byte("a linked program")}
)

func TestStoredBinaryIsLoadedAlsoByTheNextProcess(t *testing.T) {
	d := open(t)
	if _, err := d.Load(someName); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("before: %v, want fs.ErrNotExist", err)
	}
	store(t, d, someName, some)
	again, err := Open(d.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	got, err := again.Load(someName)
	if err != nil || got.Format != some.Format || !bytes.Equal(got.Data, some.Data) {
		t.Errorf("loaded %v, %v", got, err)
	}
	if info, err := os.Stat(d.Path()); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("directory: %v, %v, want mode 0700", info.Mode(), err)
	}
	if info, err := os.Stat(path(d, someName)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("file: %v, %v, want mode 0600", info.Mode(), err)
	}
}

func TestNameDependsOnEveryPartAndOnWhereItEnds(t *testing.T) {
	seen := map[Name][4]string{}
	for _, parts := range [][4]string{
		{"vendor", "renderer", "version", "source"},
		{"vendorr", "enderer", "version", "source"},
		{"vendor", "rendererv", "ersion", "source"},
		{"vendor", "renderer", "versions", "ource"},
		{"vendor", "renderer", "version2", "source"},
		{"", "vendorrenderer", "version", "source"},
		{"vendor", "renderer", "version", ""},
	} {
		name := NameOf(parts[0], parts[1], parts[2], parts[3])
		if before, taken := seen[name]; taken {
			t.Errorf("%q and %q have the same name", before, parts)
		}
		seen[name] = parts
	}
	// The name on disk must not change with a release of this program.
	const want = "0ac1bc946e26afe8e1fa8ff9cfa1262304ccbd4a723a8e97bec37064d9c8f660"
	if got := someName.String(); got != want {
		t.Errorf("name %s, want %s", got, want)
	}
}

// TestDamagedFileIsNeverGivenOut changes every byte and cuts at every length.
func TestDamagedFileIsNeverGivenOut(t *testing.T) {
	d := open(t)
	store(t, d, someName, some)
	whole, err := os.ReadFile(path(d, someName))
	if err != nil {
		t.Fatal(err)
	}
	refused := func(what string, at int, file []byte) {
		t.Helper()
		if err := os.WriteFile(path(d, someName), file, 0o600); err != nil {
			t.Fatal(err)
		}
		if b, err := d.Load(someName); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s at %d: %v, %v, want ErrDamaged", what, at, b, err)
		}
	}
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 0x40
		refused("a changed byte", at, changed)
		refused("cut", at, whole[:at])
	}
	refused("a byte more", len(whole), append(bytes.Clone(whole), 0))
	if err := os.WriteFile(path(d, someName), whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(someName); err != nil {
		t.Errorf("the whole file: %v", err)
	}
}

func TestFileUnderAnotherNameIsDamaged(t *testing.T) {
	d := open(t)
	other := NameOf("vendor", "renderer", "version", "other source")
	store(t, d, someName, some)
	if err := os.Rename(path(d, someName), path(d, other)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(other); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
}

// TestFileLargerThanTheCapTakesNoMemory uses a sparse file of 64 GiB, which a
// reader that trusts sizes could not hold.
func TestFileLargerThanTheCapTakesNoMemory(t *testing.T) {
	d := open(t)
	store(t, d, someName, some)
	if err := os.Truncate(path(d, someName), 1<<36); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Load(someName); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v, want ErrDamaged", err)
	}
	if err := d.Store(someName, Binary{Data: make([]byte, maxEntry-headerSize+1)}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("storing more than the cap: %v, want ErrTooLarge", err)
	}
}

// TestOnlyRegularFilesAreRead would hang on the pipe if it were opened to be read.
func TestOnlyRegularFilesAreRead(t *testing.T) {
	for what, put := range map[string]func(at string) error{
		"pipe":      func(at string) error { return syscall.Mkfifo(at, 0o600) },
		"directory": func(at string) error { return os.MkdirAll(filepath.Join(at, "inner"), 0o700) },
		"link":      func(at string) error { return os.Symlink("/etc/passwd", at) },
		"dangling":  func(at string) error { return os.Symlink("nowhere", at) },
	} {
		t.Run(what, func(t *testing.T) {
			d := open(t)
			if err := put(path(d, someName)); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Load(someName); !errors.Is(err, ErrDamaged) {
				t.Errorf("%v, want ErrDamaged", err)
			}
			if err := d.Remove(someName); err != nil {
				t.Fatal(err)
			}
			store(t, d, someName, some)
			if _, err := d.Load(someName); err != nil {
				t.Errorf("after it was replaced: %v", err)
			}
		})
	}
}

func TestDirectoryThatOthersCanWriteToIsRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o720, 0o702, 0o777, 0o1777} {
		at := t.TempDir()
		if err := os.Chmod(at, mode); err != nil {
			t.Fatal(err)
		}
		_, err := Open(at)
		if !errors.Is(err, ErrUnsafe) || !strings.Contains(err.Error(), "chmod go-w "+at) {
			t.Errorf("mode %04o: %v, want ErrUnsafe with advice", mode, err)
		}
		if _, err := Inspect(at); !errors.Is(err, ErrUnsafe) {
			t.Errorf("mode %04o: Inspect: %v, want ErrUnsafe", mode, err)
		}
	}
	at := t.TempDir()
	if err := os.Chmod(at, 0o755); err != nil {
		t.Fatal(err)
	}
	d, err := Open(at)
	if err != nil {
		t.Fatalf("mode 0755: %v", err)
	}
	d.Close()
}

func TestDirectoryOfAnotherUserIsRefused(t *testing.T) {
	info, err := os.Stat("/proc/1")
	if err != nil {
		t.Fatal(err)
	}
	stat := *info.Sys().(*syscall.Stat_t)
	stat.Uid = uint32(os.Geteuid()) + 1
	if err := checkSafe("dir", ownedBy{info, &stat}); !errors.Is(err, ErrUnsafe) {
		t.Errorf("%v, want ErrUnsafe", err)
	}
	stat.Uid = uint32(os.Geteuid())
	if err := checkSafe("dir", ownedBy{info, &stat}); err != nil {
		t.Errorf("of this user: %v", err)
	}
}

type ownedBy struct {
	fs.FileInfo
	stat *syscall.Stat_t
}

func (o ownedBy) Sys() any { return o.stat }

func TestLeastRecentlyUsedFilesGoFirst(t *testing.T) {
	payload := make([]byte, 1000)
	size := int64(len(payload) + headerSize)
	d := open(t)
	d.most = 3 * size
	var names [4]Name
	for i := range names {
		names[i] = NameOf("v", "r", "v", strings.Repeat("s", i))
	}
	age := func(i int, hours time.Duration) {
		then := time.Now().Add(-hours * time.Hour)
		if err := os.Chtimes(path(d, names[i]), then, then); err != nil {
			t.Fatal(err)
		}
	}
	foreign := filepath.Join(d.Path(), "notes.txt")
	if err := os.WriteFile(foreign, make([]byte, 10*size), 0o600); err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		store(t, d, names[i], Binary{Data: payload})
	}
	age(0, 3)
	age(1, 2)
	age(2, 1)
	if _, err := d.Load(names[0]); err != nil { // now the newest
		t.Fatal(err)
	}
	store(t, d, names[3], Binary{Data: payload})
	for i, want := range []bool{true, false, true, true} {
		if _, err := os.Stat(path(d, names[i])); (err == nil) != want {
			t.Errorf("file %d: %v, want it there: %v", i, err, want)
		}
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Errorf("a file that is no binary was removed: %v", err)
	}
	if u, err := d.Usage(); err != nil || u.Entries != 3 || u.Bytes != 3*size {
		t.Errorf("usage %+v, %v", u, err)
	}
	if u, err := Inspect(d.Path()); err != nil || u.Entries != 3 {
		t.Errorf("Inspect: %+v, %v", u, err)
	}
	d.most = size
	store(t, d, names[1], Binary{Data: payload})
	if u, _ := d.Usage(); u.Entries != 1 {
		t.Errorf("%d files, the bound is 1", u.Entries)
	}
	if _, err := d.Load(names[1]); err != nil {
		t.Errorf("what was just stored was trimmed: %v", err)
	}
}

func TestLeftoversOfKilledWritersGoAsBinariesDo(t *testing.T) {
	d := open(t)
	left := filepath.Join(d.Path(), "."+fileName(someName)+"123456")
	if err := os.WriteFile(left, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(left, old, old); err != nil {
		t.Fatal(err)
	}
	d.most = int64(len(some.Data)) + headerSize
	store(t, d, someName, some)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the leftover: %v, want it gone", err)
	}
	if _, err := d.Load(someName); err != nil {
		t.Errorf("what was just stored: %v", err)
	}
}

func TestFullDiskLeavesTheFileAsItWas(t *testing.T) {
	d := open(t)
	store(t, d, someName, some)
	d.replace = func(*os.Root, string, []byte) error { return syscall.ENOSPC }
	if err := d.Store(someName, Binary{Data: []byte("newer")}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v, want ENOSPC", err)
	}
	if b, err := d.Load(someName); err != nil || !bytes.Equal(b.Data, some.Data) {
		t.Errorf("%v, %v", b, err)
	}
}

func TestRemovedDirectoryIsAnError(t *testing.T) {
	d := open(t)
	if err := os.RemoveAll(d.Path()); err != nil {
		t.Fatal(err)
	}
	if err := d.Store(someName, some); err == nil {
		t.Error("no error")
	}
	if _, err := d.Load(someName); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want fs.ErrNotExist", err)
	}
	if _, err := Inspect(d.Path()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Inspect: %v, want fs.ErrNotExist", err)
	}
}
