package graph

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// Format is a file format; docs/graphs.md describes them.
type Format uint8

// The formats.
const (
	EdgeList Format = iota
	MatrixMarket
	Binary
)

func (f Format) String() string {
	switch f {
	case EdgeList:
		return "edge list"
	case MatrixMarket:
		return "Matrix Market"
	case Binary:
		return "binary"
	}
	return fmt.Sprintf("format(%d)", uint8(f))
}

// Limits bound what Read accepts. A zero field means its default.
type Limits struct {
	// Edges is the most edges that a file may list; 1<<28 by default, for which
	// reading takes about 4 GB.
	Edges uint64
	// Nodes is the most nodes that a file may have; MaxNodes by default. A matrix and a
	// binary file may have many without edges, and each takes 12 bytes.
	Nodes uint64
	// Bytes is the most that a file may hold after unpacking; no bound by default.
	// Comments and blank lines count: a few compressed bytes can stand for any number
	// of them.
	Bytes uint64
}

// DefaultEdges is the most edges that Read takes unless Limits says otherwise.
const DefaultEdges = 1 << 28

// ErrLimit says that a file holds more than Limits allows.
var ErrLimit = errors.New("graph: larger than allowed")

// LineError is what is wrong with a line of a text file.
type LineError struct {
	Line uint64 // from 1 on
	Err  error
}

func (e *LineError) Error() string { return fmt.Sprintf("graph: line %d: %v", e.Line, e.Err) }

// Unwrap returns what is wrong.
func (e *LineError) Unwrap() error { return e.Err }

// block is how much of a text one goroutine parses at a time. No line may be longer.
const block = 1 << 20

// Read reads a graph in any of the formats, compressed with gzip or not, which
// its first bytes tell apart. The options say what becomes of the edges of a text;
// a binary file holds a finished graph, to which they do not apply.
//
// Memory follows the bytes that arrived: 16 bytes an edge of a text, 24 with
// weights, until the graph is built of them.
func Read(r io.Reader, o Options, l Limits) (Pair, Format, error) {
	if l.Edges == 0 {
		l.Edges = DefaultEdges
	}
	if l.Nodes == 0 {
		l.Nodes = MaxNodes
	}
	in, err := unpacked(r, l.Bytes)
	if err != nil {
		return Pair{}, 0, err
	}
	start, err := in.Peek(len(matrixMagic))
	if err != nil && !errors.Is(err, io.EOF) {
		return Pair{}, 0, readError(err)
	}
	switch {
	case bytes.HasPrefix(start, []byte(binaryMagic)):
		p, err := readBinary(in, l)
		return p, Binary, err
	case bytes.EqualFold(start, []byte(matrixMagic)):
		p, err := readMatrix(in, o, l)
		return p, MatrixMarket, err
	}
	p, err := readEdgeList(in, o, l)
	return p, EdgeList, err
}

// unpacked reads a file, compressed with gzip or not, of at most the given number of bytes
// unpacked; 0 is no bound.
func unpacked(r io.Reader, most uint64) (*bufio.Reader, error) {
	in := bufio.NewReaderSize(r, block)
	if magic, err := in.Peek(2); err == nil && magic[0] == 0x1F && magic[1] == 0x8B {
		unzipped, err := gzip.NewReader(in)
		if err != nil {
			return nil, fmt.Errorf("graph: gzip: %w", err)
		}
		return bufio.NewReaderSize(&bounded{unzipped, most, most}, block), nil
	}
	if most > 0 {
		return bufio.NewReaderSize(&bounded{in, most, most}, block), nil
	}
	return in, nil
}

// bounded fails if more than most bytes arrive, unless most is 0, and says what is wrong with a
// compressed file that ends too early.
type bounded struct {
	from       io.Reader
	left, most uint64
}

func (b *bounded) Read(to []byte) (int, error) {
	n, err := b.from.Read(to)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = fmt.Errorf("%w: the compressed file is cut off", ErrMalformed)
	}
	if b.most == 0 {
		return n, err
	}
	if uint64(n) > b.left {
		return int(b.left), fmt.Errorf("%w: a file of more than %d bytes, unpacked", ErrLimit, b.most)
	}
	b.left -= uint64(n)
	return n, err
}

// readError is an error of the file's reader, or what is wrong with the file itself.
func readError(err error) error {
	if errors.Is(err, ErrMalformed) || errors.Is(err, ErrLimit) {
		return err
	}
	return fmt.Errorf("graph: read: %w", err)
}

func readEdgeList(in *bufio.Reader, o Options, l Limits) (Pair, error) {
	if start, _ := in.Peek(3); string(start) == "\xEF\xBB\xBF" {
		_, _ = in.Discard(3) // a byte order mark; they are buffered
	}
	t := text{in: in, limit: l.Edges, grammar: grammar{weights: weightsOptional}}
	pieces, err := t.read()
	if err != nil {
		return Pair{}, err
	}
	e, err := dense(pieces)
	if err != nil {
		return Pair{}, err
	}
	if uint64(e.Nodes) > l.Nodes {
		return Pair{}, fmt.Errorf("%w: %d nodes, at most %d", ErrLimit, e.Nodes, l.Nodes)
	}
	return Build(e, o)
}
