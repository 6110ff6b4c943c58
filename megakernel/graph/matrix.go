package graph

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
)

// matrixMagic begins a Matrix Market file; its case does not matter.
const matrixMagic = "%%MatrixMarket"

// A matrix may have this many rows without entries, and this many rows for each
// entry: more is refused, because rows take memory and a file can claim any number.
const (
	matrixRows         = 1 << 20
	matrixRowsPerEntry = 64
)

// readMatrix reads a matrix in coordinate form as a graph: an entry in row i,
// column j is an edge from i to j, and its value the weight. See "The Matrix
// Market Exchange Formats", NISTIR 5935.
func readMatrix(in *bufio.Reader, o Options, l Limits) (Pair, error) {
	t := text{in: in, limit: l.Edges}
	symmetric, err := t.matrixHeader()
	if err != nil {
		return Pair{}, err
	}
	rows, entries, err := t.matrixSize()
	if err != nil {
		return Pair{}, err
	}
	switch {
	case entries > l.Edges:
		return Pair{}, &LineError{t.line, fmt.Errorf("%w: %d entries, at most %d", ErrLimit, entries, l.Edges)}
	case rows > l.Nodes:
		return Pair{}, &LineError{t.line, fmt.Errorf("%w: %d rows, at most %d", ErrLimit, rows, l.Nodes)}
	}
	t.grammar.nodes = rows
	pieces, err := t.read()
	if err != nil {
		return Pair{}, err
	}
	e := join(pieces, func(id uint64) uint32 { return uint32(id - 1) })
	if uint64(len(e.From)) != entries {
		return Pair{}, fmt.Errorf("%w: line %d claims %d entries, the file has %d", ErrMalformed, t.line, entries, len(e.From))
	}
	e.Nodes = uint32(rows)
	e.IDs = make([]uint64, rows)
	for v := range e.IDs {
		e.IDs[v] = uint64(v) + 1
	}
	if symmetric && o.Directed {
		e.mirror()
	}
	return Build(e, o)
}

// matrixHeader reads the first line.
func (t *text) matrixHeader() (symmetric bool, err error) {
	line, err := t.readLine()
	if err != nil {
		return false, err
	}
	fail := func(format string, args ...any) (bool, error) {
		return false, &LineError{t.line, fmt.Errorf(format, args...)}
	}
	words := strings.Fields(strings.ToLower(line))
	if len(words) != 5 || words[1] != "matrix" {
		return fail("a header is %s matrix coordinate FIELD SYMMETRY", matrixMagic)
	}
	if words[2] != "coordinate" {
		return fail("format %q; a graph is a matrix in coordinate form", words[2])
	}
	switch words[3] {
	case "pattern":
		t.grammar.weights = weightsNone
	case "integer":
		t.grammar.weights = weightsRequired
	case "real":
		t.grammar.weights, t.grammar.real = weightsRequired, true
	default:
		return fail("field %q; want pattern, integer or real", words[3])
	}
	switch words[4] {
	case "general", "symmetric":
		return words[4] == "symmetric", nil
	}
	return fail("symmetry %q; want general or symmetric", words[4])
}

// matrixSize reads the comments and the line with the size.
func (t *text) matrixSize() (rows, entries uint64, err error) {
	for {
		line, err := t.readLine()
		if err != nil {
			return 0, 0, err
		}
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '%' {
			continue
		}
		fail := func(err error) (uint64, uint64, error) { return 0, 0, &LineError{t.line, err} }
		var size [3]uint64
		words := strings.Fields(line)
		if len(words) != len(size) {
			return fail(errors.New("a size is the numbers of rows, columns and entries"))
		}
		for i, w := range words {
			if size[i], _, err = number([]byte(w)); err != nil {
				return fail(fmt.Errorf("%s %w", word([]byte(w)), err))
			}
		}
		switch {
		case size[0] != size[1]:
			return fail(fmt.Errorf("%d rows and %d columns; the matrix of a graph is square", size[0], size[1]))
		case size[0] > MaxNodes:
			return fail(fmt.Errorf("%w: %d rows", ErrTooLarge, size[0]))
		case size[0] > matrixRows && size[0]/matrixRowsPerEntry > size[2]:
			return fail(fmt.Errorf("%w: %d rows for %d entries; make an edge list of it, which has nodes with edges only", ErrMalformed, size[0], size[2]))
		}
		return size[0], size[2], nil
	}
}

// readLine reads a line of the header.
func (t *text) readLine() (string, error) {
	line, err := t.in.ReadSlice('\n')
	t.line++
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		return "", &LineError{t.line, fmt.Errorf("longer than %d bytes", block)}
	case errors.Is(err, io.EOF) && len(line) == 0:
		return "", &LineError{t.line, errors.New("the file ends before the numbers of rows, columns and entries")}
	case err != nil && !errors.Is(err, io.EOF):
		return "", readError(err)
	}
	return string(line), nil
}

// mirror adds the reverse of each edge.
func (e *Edges) mirror() {
	n := len(e.From)
	for i := range n {
		if e.From[i] == e.To[i] {
			continue
		}
		e.From, e.To = append(e.From, e.To[i]), append(e.To, e.From[i])
		if e.Weights != nil {
			e.Weights = append(e.Weights, e.Weights[i])
		}
	}
}
