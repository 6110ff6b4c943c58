package cache

import (
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"ringmaster/megakernel/policy"
)

// Schema is the version of the file's form.
const Schema = 1

// MaxFileBytes bounds a file that is read, and so one that is written.
const MaxFileBytes = 16 << 20

// maxUsed bounds the clock of use that a file sets: the clock goes on from there and
// has to stay an integer of TOML.
const maxUsed = 1 << 62

// Errors of a file.
var (
	// ErrNewer says that a newer version of this program wrote the file.
	ErrNewer = errors.New("file of a newer schema")
	// ErrForeign says that the file belongs to another device.
	ErrForeign = errors.New("file of another device")
	// ErrFile says that the file is not one of this package's.
	ErrFile = errors.New("not a tuner cache")
)

// stored is an entry with the time of its last use.
type stored struct {
	Entry
	used    uint64 // value of the cache's clock
	changed bool   // put since the last write
}

// fileHeader is what stands before the entries.
type fileHeader struct {
	Schema int    `toml:"schema"`
	Device string `toml:"device"`
}

// fileEntry is an entry as TOML. A row of measured is width, groups, chunk,
// depth, count, mean and m2, as numbers in a text: rows stay short, and a decoder
// reads one string instead of seven values.
type fileEntry struct {
	Key      string   `toml:"key"`
	Used     uint64   `toml:"used"`
	Selected []uint32 `toml:"selected,omitempty"`
	Measured []string `toml:"measured,multiline"`
}

// file is a whole file.
type file struct {
	fileHeader
	Entry []fileEntry `toml:"entry"`
}

// parse reads a file of a device. One entry that makes no sense makes the file unsound: files
// are written whole, so that nobody knows what else is wrong with it.
func parse(data []byte, device string) ([]stored, error) {
	var f file
	if err := toml.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if err := f.check(device); err != nil {
		return nil, err
	}
	entries := make([]stored, len(f.Entry))
	known := make(map[Key]bool, len(f.Entry))
	for i := range f.Entry {
		var err error
		if entries[i], err = f.Entry[i].stored(); err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		if key := entries[i].Key; known[key] {
			return nil, fmt.Errorf("key %v stands twice: %w", key, ErrEntry)
		}
		known[entries[i].Key] = true
	}
	return entries, nil
}

func (h *fileHeader) check(device string) error {
	switch {
	case h.Schema > Schema:
		return fmt.Errorf("schema %d, this program knows %d: %w", h.Schema, Schema, ErrNewer)
	case h.Schema != Schema:
		return fmt.Errorf("schema %d: %w", h.Schema, ErrFile)
	case h.Device != device:
		return fmt.Errorf("device %.200q: %w", h.Device, ErrForeign)
	}
	return nil
}

func (f *fileEntry) stored() (stored, error) {
	s := stored{used: min(f.Used, maxUsed)}
	if n, err := hex.Decode(s.Key[:], []byte(f.Key[:min(len(f.Key), 64)])); err != nil || n != len(s.Key) || len(f.Key) != 64 {
		return s, fmt.Errorf("key %.80q is not 64 hexadecimal digits: %w", f.Key, ErrEntry)
	}
	if len(f.Selected) != 0 {
		if len(f.Selected) != 4 {
			return s, fmt.Errorf("selected has %d numbers, want 4: %w", len(f.Selected), ErrEntry)
		}
		s.Selected = policy.Geometry{Width: f.Selected[0], Groups: f.Selected[1], Chunk: f.Selected[2], Depth: f.Selected[3]}
	}
	if len(f.Measured) > MaxMeasurements {
		return s, fmt.Errorf("%d measurements, at most %d: %w", len(f.Measured), MaxMeasurements, ErrEntry)
	}
	s.Measurements = make([]Measurement, len(f.Measured))
	for i, row := range f.Measured {
		if err := s.Measurements[i].read(row); err != nil {
			return s, err
		}
	}
	return s, s.Check()
}

// row is a measurement as text.
func (m *Measurement) row() string {
	return fmt.Sprintf("%d %d %d %d %d %v %v", m.Width, m.Groups, m.Chunk, m.Depth, m.Count, m.Mean, m.M2)
}

// read reads what row wrote.
func (m *Measurement) read(row string) error {
	fields := strings.Fields(row)
	if len(fields) != 7 {
		return fmt.Errorf("measurement %.80q: %d values, want 7: %w", row, len(fields), ErrEntry)
	}
	var err error
	for i, to := range []*uint32{&m.Width, &m.Groups, &m.Chunk, &m.Depth} {
		v, e := strconv.ParseUint(fields[i], 10, 32)
		*to, err = uint32(v), errors.Join(err, e)
	}
	var errs [3]error
	m.Count, errs[0] = strconv.ParseUint(fields[4], 10, 64)
	m.Mean, errs[1] = strconv.ParseFloat(fields[5], 64)
	m.M2, errs[2] = strconv.ParseFloat(fields[6], 64)
	if err = errors.Join(err, errors.Join(errs[:]...)); err != nil {
		return fmt.Errorf("measurement %.80q: %w: %w", row, ErrEntry, err)
	}
	return nil
}

// format writes entries in the order given.
func format(device string, entries []*stored) []byte {
	whole := file{fileHeader{Schema, device}, make([]fileEntry, 0, len(entries))}
	for _, e := range entries {
		f := fileEntry{Key: e.Key.String(), Used: e.used, Measured: []string{}}
		if g := e.Selected; g != (policy.Geometry{}) {
			f.Selected = []uint32{g.Width, g.Groups, g.Chunk, g.Depth}
		}
		for i := range e.Measurements {
			f.Measured = append(f.Measured, e.Measurements[i].row())
		}
		whole.Entry = append(whole.Entry, f)
	}
	text, err := toml.Marshal(whole)
	if err != nil {
		panic("cache: an entry is not TOML: " + err.Error())
	}
	return append([]byte("# What ringmaster's tuner measured on this device. A row of measured is:\n"+
		"# width groups chunk depth, launches, mean ns per slot, sum of squared differences.\n"), text...)
}
