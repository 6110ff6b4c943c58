package recorded

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"ringmaster/megakernel/tuner/space"
)

// MaxBytes bounds a recording after decompression.
const MaxBytes = 256 << 20

const costColumn = "mean_ms"

// times matches the columns that are measurements, in any unit: a search only
// compares costs.
var times = regexp.MustCompile(`(?i)^(mean|min|median|max|std)[ _]*\(?(ns|us|µs|ms|s)\)?$`)

// failures matches what may stand for the time of a configuration that does not
// build or run: nothing at all, certain words, and the names of exceptions such as
// "CompilationFailedConfig".
var failures = regexp.MustCompile(`(?i)^(|-|n/?a|\+?inf|\+?infinity|nan|null|none|fail|failed|failure|error|timeout|invalid|[a-z]*(failed|invalid|error)config)$`)

var byteOrderMark = []byte("\xef\xbb\xbf")

// Read loads a recording. name is used in errors and, if no comment names kernel
// and device, to tell these. Compressed data is recognised by its first bytes, not
// by the name. The error wraps ErrRecording, and names file and line.
func Read(from io.Reader, name string) (*Recording, error) {
	in := bufio.NewReaderSize(from, 1<<16)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrRecording, name, err)
		}
		defer z.Close()
		in = bufio.NewReaderSize(&limited{z, MaxBytes}, 1<<16)
	} else {
		in = bufio.NewReaderSize(&limited{in, MaxBytes}, 1<<16)
	}
	if start, _ := in.Peek(len(byteOrderMark)); bytes.Equal(start, byteOrderMark) {
		_, _ = in.Discard(len(byteOrderMark))
	}
	t := table{name: name}
	t.kernel, t.device = nameParts(name)
	if err := t.comments(in); err != nil {
		return nil, err
	}
	t.csv = csv.NewReader(in)
	t.csv.Comment = '#'
	t.csv.ReuseRecord = true
	if err := t.header(); err != nil {
		return nil, err
	}
	for {
		row, err := t.csv.Read()
		if err == io.EOF {
			return t.finish()
		}
		if err != nil {
			return nil, t.syntax(err)
		}
		if err := t.row(row); err != nil {
			return nil, err
		}
	}
}

var errTooLarge = fmt.Errorf("more than %d MiB after decompression", MaxBytes>>20)

// limited fails, instead of ending early, when there are more than left bytes.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

// table collects the rows of a recording.
type table struct {
	name           string
	kernel, device string
	skipped        int // comment lines before the header
	csv            *csv.Reader
	columns        []string
	cost           int   // column of the cost
	params         []int // columns of the parameters
	seen           []map[string]uint16
	values         [][]string // by parameter, in the order of their first use
	levels         []uint16   // by row and parameter: index into values
	costs          []float64
	lines          []int32
}

func (t *table) errorAt(line int, format string, args ...any) error {
	return fmt.Errorf("%w: %s:%d: %w", ErrRecording, t.name, line, fmt.Errorf(format, args...))
}

func (t *table) syntax(err error) error {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return t.errorAt(t.skipped+parse.Line, "%w", parse.Err)
	}
	return fmt.Errorf("%w: %s: %w", ErrRecording, t.name, err)
}

func (t *table) line(column int) int {
	line, _ := t.csv.FieldPos(column)
	return t.skipped + line
}

// comments reads what stands before the header, in search of kernel and device.
func (t *table) comments(in *bufio.Reader) error {
	for found := false; ; t.skipped++ {
		if first, _ := in.Peek(1); string(first) != "#" {
			return nil
		}
		line, err := in.ReadSlice('\n')
		if err != nil && err != io.EOF {
			return t.errorAt(t.skipped+1, "comment line: %w", err)
		}
		if kernel, device, ok := headerParts(string(line)); ok && !found {
			t.kernel, found = kernel, true
			if device != "" {
				t.device = device
			}
		}
	}
}

func (t *table) header() error {
	columns, err := t.csv.Read()
	if err == io.EOF {
		return fmt.Errorf("%w: %s: empty", ErrRecording, t.name)
	}
	if err != nil {
		return t.syntax(err)
	}
	t.columns, t.cost = append(t.columns, columns...), -1
	names := map[string]bool{}
	for i, c := range t.columns {
		c = strings.TrimSpace(c)
		t.columns[i] = c
		time := times.FindStringSubmatch(c)
		switch {
		case strings.ContainsAny(c, "\r\n"):
			return t.errorAt(t.line(i), "column %d: a line break in the name %.40q; lines end with LF or CR LF", i+1, c)
		case c == "":
			return t.errorAt(t.line(i), "column %d has no name", i+1)
		case names[c]:
			return t.errorAt(t.line(i), "column %q occurs twice", c)
		case time != nil && strings.EqualFold(time[1], "mean"):
			if t.cost >= 0 {
				return t.errorAt(t.line(i), "both %s and %s are the cost", t.columns[t.cost], c)
			}
			t.cost = i
		case time == nil:
			t.params = append(t.params, i)
		}
		names[c] = true
	}
	switch {
	case t.cost < 0:
		return t.errorAt(t.line(0), "no column %s; the first line that is no comment names the columns, with commas between them: %.60q", costColumn, strings.Join(t.columns, ","))
	case len(t.params) == 0:
		return t.errorAt(t.line(0), "no parameter columns")
	case len(t.params) > space.MaxParams:
		return t.errorAt(t.line(0), "%d parameters, at most %d are allowed", len(t.params), space.MaxParams)
	}
	t.values = make([][]string, len(t.params))
	t.seen = make([]map[string]uint16, len(t.params))
	for j := range t.seen {
		t.seen[j] = map[string]uint16{}
	}
	return nil
}

func (t *table) row(row []string) error {
	if len(t.costs) == space.MaxConfigs {
		return t.errorAt(t.line(0), "more than %d configurations", space.MaxConfigs)
	}
	cost, err := parseCost(row[t.cost])
	if err != nil {
		return t.errorAt(t.line(t.cost), "%s: %w", t.columns[t.cost], err)
	}
	for j, column := range t.params {
		value := strings.TrimSpace(row[column])
		if value == "" {
			return t.errorAt(t.line(column), "%s is empty", t.columns[column])
		}
		level, ok := t.seen[j][value]
		if !ok {
			if len(t.values[j]) == space.MaxLevels {
				return t.errorAt(t.line(column), "%s has more than %d values", t.columns[column], space.MaxLevels)
			}
			value = strings.Clone(value) // a row's fields share one string
			level = uint16(len(t.values[j]))
			t.seen[j][value] = level
			t.values[j] = append(t.values[j], value)
		}
		t.levels = append(t.levels, level)
	}
	t.costs = append(t.costs, cost)
	t.lines = append(t.lines, int32(t.line(0)))
	return nil
}

func parseCost(text string) (float64, error) {
	text = strings.TrimSpace(text)
	cost, err := strconv.ParseFloat(text, 64)
	switch {
	case (err != nil || math.IsNaN(cost) || math.IsInf(cost, 1)) && failures.MatchString(text):
		return math.Inf(1), nil
	case err != nil:
		return 0, fmt.Errorf("%.40q is not a number; leave it empty if the configuration fails", text)
	case !(cost > 0) || math.IsInf(cost, 0):
		return 0, fmt.Errorf("%v is not a time; leave it empty if the configuration fails", cost)
	}
	return cost, nil
}

func (t *table) finish() (*Recording, error) {
	params := make([]space.Param, len(t.params))
	for j, column := range t.params {
		var ordered []uint16
		params[j], ordered = space.NewParam(t.columns[column], t.values[j])
		for i := j; i < len(t.levels); i += len(params) {
			t.levels[i] = ordered[t.levels[i]]
		}
	}
	s, err := space.New(params, t.levels)
	var twice *space.DuplicateError
	if errors.As(err, &twice) {
		return nil, t.errorAt(int(t.lines[twice.Second]), "same configuration as line %d", t.lines[twice.First])
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrRecording, t.name, err)
	}
	for _, cost := range t.costs {
		if !math.IsInf(cost, 1) {
			return NewRecording(s, t.kernel, t.device, t.costs)
		}
	}
	return nil, fmt.Errorf("%w: %s: every configuration fails", ErrRecording, t.name)
}

// nameParts splits a file's name into kernel and device at its last '-'.
func nameParts(path string) (kernel, device string) {
	stem := filepath.Base(path)
	for {
		ext := filepath.Ext(stem)
		if ext == "" || ext == stem || !strings.Contains(" .csv .gz .txt ", " "+strings.ToLower(ext)+" ") {
			break
		}
		stem = strings.TrimSuffix(stem, ext)
	}
	if i := strings.LastIndexByte(stem, '-'); i > 0 {
		return stem[:i], stem[i+1:]
	}
	return stem, ""
}

// headerParts reads "# KERNEL on DEVICE; text".
func headerParts(comment string) (kernel, device string, ok bool) {
	text, _, _ := strings.Cut(strings.TrimLeft(comment, "# \t"), ";")
	kernel, device, ok = strings.Cut(strings.TrimRight(text, "\r\n")+" ", " on ")
	kernel, device = strings.TrimSpace(kernel), strings.TrimSpace(device)
	return kernel, device, ok && kernel != "" && !strings.ContainsAny(kernel, " \t,")
}
