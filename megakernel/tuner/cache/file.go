package cache

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

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
	Selected []uint32 `toml:"selected"`
	Measured []string `toml:"measured"`
}

type fileWhole struct {
	fileHeader
	Entry []fileEntry `toml:"entry"`
}

// damage is what was dropped from a file.
type damage struct {
	line   int // of the entry's beginning, 0 if unknown
	reason error
}

// parse reads a file of a device. Entries that make no sense are left out and
// listed. An error says that the file as a whole is of no use.
func parse(data []byte, device string) ([]stored, []damage, error) {
	var whole fileWhole
	if err := toml.Unmarshal(data, &whole); err != nil {
		return parsePieces(data, device)
	}
	if err := whole.check(device); err != nil {
		return nil, nil, err
	}
	var bad []damage
	entries := make([]stored, 0, len(whole.Entry))
	for i := range whole.Entry {
		e, err := whole.Entry[i].stored()
		if err != nil {
			bad = append(bad, damage{reason: fmt.Errorf("entry %d: %w", i+1, err)})
			continue
		}
		entries = append(entries, e)
	}
	entries, again := unique(entries)
	return entries, append(bad, again...), nil
}

// parsePieces reads a damaged file entry by entry: what stands between two
// lines that open an entry is a document of its own.
func parsePieces(data []byte, device string) ([]stored, []damage, error) {
	pieces := split(data)
	var header fileHeader
	if err := toml.Unmarshal(pieces[0].text, &header); err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrFile, err)
	}
	if err := header.check(device); err != nil {
		return nil, nil, err
	}
	var entries []stored
	var bad []damage
	for _, piece := range pieces[1:] {
		var e fileEntry
		err := toml.Unmarshal(piece.text, &e)
		if err == nil {
			var s stored
			if s, err = e.stored(); err == nil {
				entries = append(entries, s)
				continue
			}
		}
		bad = append(bad, damage{piece.line, err})
	}
	entries, again := unique(entries)
	return entries, append(bad, again...), nil
}

type piece struct {
	line int
	text []byte
}

// split cuts a file before each line that opens an entry and leaves that line out.
func split(data []byte) []piece {
	pieces := []piece{{line: 1}}
	begin, line := 0, 1
	for at := 0; at < len(data); line++ {
		end := len(data)
		if n := bytes.IndexByte(data[at:], '\n'); n >= 0 {
			end = at + n + 1
		}
		if string(bytes.TrimSpace(data[at:end])) == "[[entry]]" {
			pieces[len(pieces)-1].text = data[begin:at]
			pieces = append(pieces, piece{line: line})
			begin = end
		}
		at = end
	}
	pieces[len(pieces)-1].text = data[begin:]
	return pieces
}

// unique keeps, of entries with the same key, the one that was used last.
func unique(entries []stored) ([]stored, []damage) {
	at := make(map[Key]int, len(entries))
	kept := entries[:0]
	var bad []damage
	for _, e := range entries {
		i, known := at[e.Key]
		if !known {
			at[e.Key] = len(kept)
			kept = append(kept, e)
			continue
		}
		bad = append(bad, damage{reason: fmt.Errorf("key %v stands twice: %w", e.Key, ErrEntry)})
		if e.used > kept[i].used {
			kept[i] = e
		}
	}
	return kept, bad
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

// rowFields is the number of values of a measurement.
const rowFields = 7

func (m *Measurement) read(row string) error {
	var fields [rowFields]string
	rest, n := row, 0
	for rest != "" {
		end := 0
		for end < len(rest) && rest[end] != ' ' {
			end++
		}
		if n == rowFields {
			return fmt.Errorf("measurement %.80q: more than %d values: %w", row, rowFields, ErrEntry)
		}
		fields[n] = rest[:end]
		n++
		rest = rest[min(end+1, len(rest)):]
	}
	if n != rowFields {
		return fmt.Errorf("measurement %.80q: %d values, want %d: %w", row, n, rowFields, ErrEntry)
	}
	var err error
	word := func(s string) uint32 {
		v, e := strconv.ParseUint(s, 10, 32)
		err = errors.Join(err, e)
		return uint32(v)
	}
	float := func(s string) float64 {
		v, e := strconv.ParseFloat(s, 64)
		err = errors.Join(err, e)
		return v
	}
	m.Geometry = policy.Geometry{Width: word(fields[0]), Groups: word(fields[1]), Chunk: word(fields[2]), Depth: word(fields[3])}
	count, e := strconv.ParseUint(fields[4], 10, 64)
	m.Count, m.Mean, m.M2 = count, float(fields[5]), float(fields[6])
	if err = errors.Join(err, e); err != nil {
		return fmt.Errorf("measurement %.80q: %w: %w", row, ErrEntry, err)
	}
	return nil
}

// format writes entries in the order given.
func format(device string, entries []*stored) []byte {
	b := fmt.Appendf(nil, "# What ringmaster's tuner measured on this device. A row of measured is:\n"+
		"# width groups chunk depth, launches, mean ns per slot, sum of squared differences.\nschema = %d\ndevice = ", Schema)
	b = appendText(b, device)
	for _, e := range entries {
		b = append(b, "\n\n[[entry]]\nkey = \""...)
		b = hex.AppendEncode(b, e.Key[:])
		b = fmt.Appendf(b, "\"\nused = %d\n", e.used)
		if g := e.Selected; g != (policy.Geometry{}) {
			b = fmt.Appendf(b, "selected = [%d, %d, %d, %d]\n", g.Width, g.Groups, g.Chunk, g.Depth)
		}
		b = append(b, "measured = ["...)
		for i := range e.Measurements {
			m := &e.Measurements[i]
			b = fmt.Appendf(b, "\n  \"%d %d %d %d %d ", m.Width, m.Groups, m.Chunk, m.Depth, m.Count)
			b = strconv.AppendFloat(b, m.Mean, 'g', -1, 64)
			b = append(b, ' ')
			b = strconv.AppendFloat(b, m.M2, 'g', -1, 64)
			b = append(b, "\","...)
		}
		b = append(b, "\n]"...)
	}
	return append(b, '\n')
}

// appendText appends a string as the encoder writes it.
func appendText(b []byte, s string) []byte {
	text, err := toml.Marshal(map[string]string{"x": s})
	if err != nil {
		panic("cache: a string is not TOML: " + err.Error())
	}
	_, value, _ := bytes.Cut(bytes.TrimSpace(text), []byte("= "))
	return append(b, value...)
}
