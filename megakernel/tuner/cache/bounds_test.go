package cache

import (
	"bytes"
	"os"
	"testing"

	"ringmaster/megakernel/policy"
)

// The clock of use goes on from that of the file, which anybody may have written.
func TestAnEntryUsedInTheFarFutureDoesNotCostThoseAfterIt(t *testing.T) {
	dir := t.TempDir()
	c, _ := open(t, dir, 8)
	put(t, c, 1)
	closeCache(t, c)
	data, err := os.ReadFile(c.Path())
	if err != nil {
		t.Fatal(err)
	}
	damaged := bytes.Replace(data, []byte("used = 1\n"), []byte("used = 9223372036854775807\n"), 1)
	if err := os.WriteFile(c.Path(), damaged, 0o600); err != nil || bytes.Equal(damaged, data) {
		t.Fatal("the file is as it was", err)
	}
	c, _ = open(t, dir, 8)
	put(t, c, 2)
	closeCache(t, c)
	c, j := open(t, dir, 8)
	defer closeCache(t, c)
	if _, found := c.Get(key(2)); !found {
		t.Errorf("what was put after it is lost:\n%s", j)
	}
}

func TestTheFileIsNeverLargerThanWhatIsRead(t *testing.T) {
	dir := t.TempDir()
	c, _ := open(t, dir, DefaultMax)
	e := Entry{}
	for i := range MaxMeasurements {
		e.Measurements = append(e.Measurements, Measurement{policy.Geometry{Width: 1024, Groups: 65535, Chunk: 1 << 20, Depth: uint32(1<<30 - i)}, 1 << 40, 1.0 / 3, 1.0 / 7})
	}
	const entries = 1200
	c.mu.Lock()
	for i := range entries { // as Put does, which is slow where it looks for repeated geometries
		e.Key = key(i)
		c.entries[e.Key] = &stored{Entry: e, used: c.tick(), changed: true}
	}
	c.dirty = true
	c.mu.Unlock()
	closeCache(t, c)
	file, err := os.Stat(c.Path())
	if err != nil || file.Size() > MaxFileBytes || file.Size() < MaxFileBytes/2 {
		t.Errorf("a file of %d bytes, %v; up to %d are read", file.Size(), err, MaxFileBytes)
	}
	if _, found := c.Get(key(entries - 1)); !found || c.Len() < entries/2 {
		t.Errorf("%d entries of %d are left", c.Len(), entries)
	}
	if _, found := c.Get(key(0)); found {
		t.Error("the entry unused for the longest is still there")
	}
}
