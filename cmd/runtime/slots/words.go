package slots

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
)

// Formats of words in files and on the screen.
var (
	uploadFormats   = []string{"bytes", "u32", "i32", "f32"}
	downloadFormats = []string{"u32", "i32", "hex", "f32", "bytes"}
)

// Upload copies the file of OFFSET:FILE[:FORMAT] into a window.
func Upload(spec string, stdin io.Reader, window []uint32) error {
	offset, words, err := ReadUpload(spec, stdin, len(window))
	if err != nil {
		return err
	}
	if room := len(window); int64(offset) > int64(room) || len(words) > room-int(offset) {
		return fmt.Errorf("%d words from %d on do not fit the window of %d words; --window makes it larger", len(words), offset, room)
	}
	copy(window[offset:], words)
	return nil
}

// ReadUpload reads the file of OFFSET:FILE[:FORMAT], which may have at most the given
// number of words.
func ReadUpload(spec string, stdin io.Reader, most int) (offset uint32, words []uint32, err error) {
	at, file, found := strings.Cut(spec, ":")
	n, err := strconv.ParseUint(at, 0, 32)
	if !found || err != nil {
		return 0, nil, errors.New("want OFFSET:FILE[:FORMAT], OFFSET in words")
	}
	format := "bytes"
	if i := strings.LastIndexByte(file, ':'); i >= 0 && slices.Contains(uploadFormats, file[i+1:]) {
		file, format = file[:i], file[i+1:]
	}
	in := stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return 0, nil, err
		}
		defer f.Close()
		in = f
	}
	limit := int64(most) * 4
	if format != "bytes" {
		limit = int64(most) * 64 // more than the characters of a number and what parts it from the next
	}
	data, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return 0, nil, err
	}
	if int64(len(data)) > limit {
		return 0, nil, fmt.Errorf("more than %d words", most)
	}
	words, err = decodeWords(data, format)
	return uint32(n), words, err
}

// decodeWords makes words of a file's contents.
func decodeWords(data []byte, format string) ([]uint32, error) {
	if format == "bytes" {
		words := make([]uint32, (len(data)+3)/4)
		for i, b := range data {
			words[i/4] |= uint32(b) << (8 * (i % 4))
		}
		return words, nil
	}
	fields := strings.FieldsFunc(string(data), func(r rune) bool { return strings.ContainsRune(" \t\r\n,", r) })
	words := make([]uint32, len(fields))
	for i, field := range fields {
		var err error
		switch format {
		case "u32":
			var n uint64
			n, err = strconv.ParseUint(field, 0, 32)
			words[i] = uint32(n)
		case "i32":
			var n int64
			n, err = strconv.ParseInt(field, 0, 32)
			words[i] = uint32(n)
		case "f32":
			var f float64
			f, err = strconv.ParseFloat(field, 32)
			words[i] = math.Float32bits(float32(f))
		}
		if err != nil {
			return nil, fmt.Errorf("number %d is %q, which is no %s", i+1, field, format)
		}
	}
	return words, nil
}

// Download is a piece of the window to print.
type Download struct {
	Offset, Count uint32
	Format        string
}

// ParseDownload reads OFFSET:COUNT[:FORMAT].
func ParseDownload(spec string) (Download, error) {
	parts := strings.Split(spec, ":")
	d := Download{Format: "u32"}
	if len(parts) == 3 {
		d.Format = parts[2]
	}
	if len(parts) < 2 || len(parts) > 3 || !slices.Contains(downloadFormats, d.Format) {
		return d, fmt.Errorf("want OFFSET:COUNT[:FORMAT], FORMAT one of %s", strings.Join(downloadFormats, ", "))
	}
	for i, to := range []*uint32{&d.Offset, &d.Count} {
		n, err := strconv.ParseUint(parts[i], 0, 32)
		if err != nil {
			return d, fmt.Errorf("%q is no number of words", parts[i])
		}
		*to = uint32(n)
	}
	return d, nil
}

// Fits refuses a download that reaches beyond the window.
func (d *Download) Fits(window uint32) error {
	if end := uint64(d.Offset) + uint64(d.Count); end > uint64(window) {
		return fmt.Errorf("words %d to %d of a window of %d; --window makes it larger", d.Offset, end, window)
	}
	return nil
}

// printRow is how many words stand in a row.
const printRow = 8

// Print writes words, each row with the offset of its first.
func (d *Download) Print(out io.Writer, words []uint32) error {
	if d.Format == "bytes" {
		data := make([]byte, 0, 4*len(words))
		for _, w := range words {
			data = binary.LittleEndian.AppendUint32(data, w)
		}
		_, err := out.Write(data)
		return err
	}
	offset := d.Offset
	for row := range slices.Chunk(words, printRow) {
		var b strings.Builder
		fmt.Fprintf(&b, "%8d:", offset)
		for _, w := range row {
			b.WriteByte(' ')
			b.WriteString(formatWord(w, d.Format))
		}
		b.WriteByte('\n')
		if _, err := io.WriteString(out, b.String()); err != nil {
			return err
		}
		offset += uint32(len(row))
	}
	return nil
}

func formatWord(w uint32, format string) string {
	switch format {
	case "i32":
		return strconv.FormatInt(int64(int32(w)), 10)
	case "hex":
		return fmt.Sprintf("%08x", w)
	case "f32":
		return strconv.FormatFloat(float64(math.Float32frombits(w)), 'g', -1, 32)
	}
	return strconv.FormatUint(uint64(w), 10)
}
