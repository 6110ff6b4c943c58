package cache

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/megakernel/policy"
	"ringmaster/megakernel/texttest"
)

const device = "Mesa/X.org llvmpipe (LLVM 15.0.6, 256 bits) \"quoted\" ../../etc\n"

func open(t *testing.T, dir string, max int) (*Cache, *texttest.Log) {
	t.Helper()
	j := new(texttest.Log)
	c := Open(Options{Dir: dir, Device: device, Max: max, Delay: time.Second, Log: slog.New(slog.NewTextHandler(j, nil))})
	<-c.Loaded()
	return c, j
}

func key(n int) Key { return Key{byte(n), byte(n >> 8), 1} }

func entry(n int) Entry {
	e := Entry{Key: key(n), Selected: policy.Geometry{Width: 256, Groups: uint32(n), Chunk: 1024}}
	for i := range 7 {
		e.Measurements = append(e.Measurements, Measurement{policy.Geometry{Width: 32 << i, Groups: uint32(n), Chunk: 1024, Depth: 4096}, uint64(i + 1), 1.25 * float64(n+1), 0.1 * float64(i)})
	}
	return e
}

func put(t *testing.T, c *Cache, numbers ...int) {
	t.Helper()
	for _, n := range numbers {
		if err := c.Put(entry(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func closeCache(t *testing.T, c *Cache) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestWhatWasPutIsFoundByTheNextProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "on", "demand")
	c, _ := open(t, dir, 8)
	put(t, c, 1, 2)
	closeCache(t, c)
	c, j := open(t, dir, 8)
	defer closeCache(t, c)
	for _, n := range []int{1, 2} {
		if got, found := c.Get(key(n)); !found || !reflect.DeepEqual(got, entry(n)) {
			t.Errorf("%d: %v, %+v", n, found, got)
		}
	}
	if j.String() != "" {
		t.Errorf("a good file logs %s", j)
	}
}

func TestAWriteFollowsAChangeAndTakesLaterOnesAlong(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c, _ := open(t, dir, 8)
		put(t, c, 1)
		time.Sleep(900 * time.Millisecond)
		put(t, c, 2)
		if _, err := os.Stat(c.Path()); err == nil {
			t.Error("written before the delay")
		}
		time.Sleep(200 * time.Millisecond)
		synctest.Wait()
		data, err := os.ReadFile(c.Path())
		if err != nil || strings.Count(string(data), "[[entry]]") != 2 {
			t.Errorf("%v\n%s", err, data)
		}
		closeCache(t, c)
	})
}

func TestTheEntryUnusedForTheLongestIsDroppedAlsoAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	c, _ := open(t, dir, 3)
	put(t, c, 1, 2, 3)
	c.Get(key(1))
	closeCache(t, c) // the use of 1 is not a change, but is stored with the next one
	c, _ = open(t, dir, 3)
	c.Get(key(1))
	put(t, c, 4)
	put(t, c, 5)
	defer closeCache(t, c)
	for n, want := range map[int]bool{1: true, 2: false, 3: false, 4: true, 5: true} {
		if _, found := c.Get(key(n)); found != want {
			t.Errorf("%d: found %v", n, found)
		}
	}
}

func TestTwoProcessesKeepWhatBothStored(t *testing.T) {
	dir := t.TempDir()
	a, _ := open(t, dir, 8)
	b, _ := open(t, dir, 8)
	put(t, a, 1, 3)
	put(t, b, 2)
	closeCache(t, a)
	changed := entry(3)
	changed.Selected.Width = 1024
	if err := b.Put(changed); err != nil {
		t.Fatal(err)
	}
	closeCache(t, b)
	c, _ := open(t, dir, 8)
	defer closeCache(t, c)
	if c.Len() != 3 {
		t.Errorf("%d entries", c.Len())
	}
	if got, _ := c.Get(key(3)); got.Selected.Width != 1024 {
		t.Errorf("the later of two writers lost: %+v", got.Selected)
	}
}

// write puts a file where the cache will look for it.
func write(t *testing.T, dir, text string) string {
	t.Helper()
	path := filepath.Join(dir, fileName(device))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func good(t *testing.T, numbers ...int) string {
	t.Helper()
	var entries []*stored
	for _, n := range numbers {
		entries = append(entries, &stored{Entry: entry(n), used: uint64(n)})
	}
	return string(format(device, entries))
}

func TestAFileThatIsNotSoundIsNotUsedAndKeptAside(t *testing.T) {
	for name, damage := range map[string]func(string) string{
		"truncated":         func(s string) string { return s[:len(s)-40] },
		"syntax":            func(s string) string { return strings.Replace(s, "used = 2", "used = = 2", 1) },
		"wrong type":        func(s string) string { return strings.Replace(s, "used = 2", "used = \"two\"", 1) },
		"negative":          func(s string) string { return strings.Replace(s, "[256, 2,", "[-256, 2,", 1) },
		"too large":         func(s string) string { return strings.Replace(s, "[256, 2,", "[99999999, 2,", 1) },
		"zero width":        func(s string) string { return strings.Replace(s, "'32 2 ", "'0 2 ", 1) },
		"not a number":      func(s string) string { return strings.Replace(s, " 1 3.75 ", " 1 NaN ", 1) },
		"next to no time":   func(s string) string { return strings.Replace(s, " 1 3.75 ", " 1 1e-300 ", 1) },
		"no time":           func(s string) string { return strings.Replace(s, " 1 3.75 ", " 1 0 ", 1) },
		"too many values":   func(s string) string { return strings.Replace(s, " 1 3.75 ", " 1 3.75 1 ", 1) },
		"geometry repeated": func(s string) string { return strings.Replace(s, "'64 2 ", "'32 2 ", 1) },
		"short key":         func(s string) string { return strings.Replace(s, key(2).String(), "02", 1) },
		"key repeated":      func(s string) string { return s + s[strings.Index(s, "[[entry]]"):] },
		"binary":            func(string) string { return "\x00\xff\x7fELF" },
		"no schema":         func(s string) string { return strings.Replace(s, "schema = 1\n", "", 1) },
		"another device":    func(s string) string { return strings.Replace(s, "256 bits", "512 bits", 1) },
		"huge":              func(string) string { return strings.Repeat("# nothing\n", MaxFileBytes/10+1) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			text := good(t, 1, 3, 2)
			damaged := damage(text)
			if damaged == text {
				t.Fatal("nothing was damaged")
			}
			path := write(t, dir, damaged)
			c, j := open(t, dir, 8)
			if c.Len() != 0 || !strings.Contains(j.String(), "not used") {
				t.Errorf("%d entries, logged %q", c.Len(), j)
			}
			if got, _ := os.ReadFile(path); string(got) != damaged {
				t.Error("reading changed the file")
			}
			put(t, c, 4)
			closeCache(t, c)
			if kept, err := os.ReadFile(path + ".kept"); err != nil || string(kept) != damaged {
				t.Errorf("the file was not kept: %v", err)
			}
			c, j = open(t, dir, 8)
			defer closeCache(t, c)
			if _, found := c.Get(key(4)); !found || c.Len() != 1 || j.String() != "" {
				t.Errorf("%d entries after the repair, logged %q", c.Len(), j)
			}
		})
	}
}

func TestAFileOfANewerSchemaIsLeftAlone(t *testing.T) {
	dir := t.TempDir()
	text := strings.Replace(good(t, 1), "schema = 1", "schema = 2", 1)
	path := write(t, dir, text)
	c, j := open(t, dir, 8)
	if _, found := c.Get(key(1)); found || !strings.Contains(j.String(), "newer schema") {
		t.Errorf("found %v, logged %q", found, j)
	}
	put(t, c, 2)
	if err := c.Flush(t.Context()); !errors.Is(err, ErrNewer) {
		t.Errorf("what is stored nowhere counts as written: %v", err)
	}
	if err := c.Close(); !errors.Is(err, ErrNewer) {
		t.Errorf("closing: %v", err)
	}
	if got, _ := os.ReadFile(path); string(got) != text {
		t.Error("the file was changed")
	}
}

func TestWhatCannotBeWrittenIsSaidBeforehand(t *testing.T) {
	c, _ := open(t, filepath.Join(t.TempDir(), "new"), 8)
	defer closeCache(t, c)
	if err := c.Flush(t.Context()); err != nil {
		t.Errorf("a directory that can be made: %v", err)
	}
	if _, err := os.Stat(c.Path()); err != nil {
		t.Errorf("nothing was tried: %v", err)
	}
}

func TestAFailingWriteIsReportedOnceAndTriedAgain(t *testing.T) {
	parent := t.TempDir()
	dir := filepath.Join(parent, "cache")
	if err := os.WriteFile(dir, []byte("in the way"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, j := open(t, dir, 8)
	put(t, c, 1)
	for range 2 {
		if err := c.Flush(context.Background()); err == nil {
			t.Error("a flush to nowhere succeeded")
		}
	}
	if n := strings.Count(j.String(), "not written"); n != 1 {
		t.Errorf("reported %d times: %s", n, j)
	}
	if _, found := c.Get(key(1)); !found {
		t.Error("memory lost what could not be written")
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	closeCache(t, c)
	c, _ = open(t, dir, 8)
	defer closeCache(t, c)
	if _, found := c.Get(key(1)); !found {
		t.Error("not written once there was room")
	}
}

func TestAnImpossibleEntryIsRefusedAndWhatWasKnownStays(t *testing.T) {
	c, _ := open(t, t.TempDir(), 8)
	defer closeCache(t, c)
	put(t, c, 1)
	bad := entry(1)
	bad.Measurements[0].Mean = -1
	if err := c.Put(bad); err == nil {
		t.Error("a negative time was taken")
	}
	if got, found := c.Get(key(1)); !found || !reflect.DeepEqual(got, entry(1)) {
		t.Errorf("%v, %+v", found, got)
	}
}

func TestFileNamesAreReadableAndDistinct(t *testing.T) {
	a, b := fileName(device), fileName(device+" ")
	if a == b || strings.ContainsAny(a, "/\\ \"\n") || !strings.HasPrefix(a, "mesa-x-org-llvmpipe") {
		t.Errorf("%q, %q", a, b)
	}
}

func BenchmarkLoad4096(b *testing.B) {
	var entries []*stored
	for n := range 4096 {
		entries = append(entries, &stored{Entry: entry(n), used: uint64(n)})
	}
	data := format(device, entries)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if got, err := parse(data, device); len(got) != 4096 || err != nil {
			b.Fatal(fmt.Sprint(len(got), err))
		}
	}
}

func FuzzParse(f *testing.F) {
	var entries []*stored
	for n := range 3 {
		entries = append(entries, &stored{Entry: entry(n), used: uint64(n)})
	}
	f.Add(format(device, entries))
	f.Add([]byte("schema = 1\n[[entry]]\n[[entry]]\nkey = 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parse(data, device)
		if err != nil {
			return
		}
		for i := range got {
			if err := got[i].Check(); err != nil {
				t.Errorf("accepted: %v", err)
			}
		}
	})
}
