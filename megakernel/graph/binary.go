package graph

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"slices"
)

// The binary format, all little-endian:
//
//	 0  8 bytes  "RMGRAPH\n"
//	 8  u32      version, 1
//	12  u32      flags: 1 directed, 2 weights, 4 names
//	16  u64      nodes
//	24  u64      edges: positions in targets
//	32  u32 × (nodes+1)  offsets
//	    u32 × edges      targets, ascending within a row
//	    u32 × edges      weights, if flagged
//	    u64 × nodes      names, ascending, if flagged
//	    u32              CRC-32C of everything before
const (
	binaryMagic   = "RMGRAPH\n"
	binaryVersion = 1
	binaryHeader  = 32

	flagDirected = 1 << 0
	flagWeights  = 1 << 1
	flagNames    = 1 << 2
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write writes a graph in the binary format. The reverse is not in the file.
func Write(w io.Writer, p Pair) error {
	g := p.Out
	if err := g.Check(); err != nil {
		return err
	}
	var flags uint32
	if p.Directed() {
		flags |= flagDirected
	}
	if g.Weights != nil {
		flags |= flagWeights
	}
	if g.IDs != nil {
		flags |= flagNames
	}
	sum := crc32.New(castagnoli)
	offsets := g.Offsets
	if len(offsets) == 0 {
		offsets = []uint32{0}
	}
	out := bufio.NewWriterSize(io.MultiWriter(w, sum), 1<<16) // keeps its first error until Flush
	_, _ = out.WriteString(binaryMagic)
	_ = binary.Write(out, binary.LittleEndian, []uint32{binaryVersion, flags})
	_ = binary.Write(out, binary.LittleEndian, []uint64{uint64(g.Nodes()), uint64(g.Edges())})
	for _, words := range [][]uint32{offsets, g.Targets, g.Weights} {
		for part := range slices.Chunk(words, 1<<14) {
			_ = binary.Write(out, binary.LittleEndian, part)
		}
	}
	for part := range slices.Chunk(g.IDs, 1<<14) {
		_ = binary.Write(out, binary.LittleEndian, part)
	}
	err := out.Flush()
	if err == nil {
		err = binary.Write(w, binary.LittleEndian, sum.Sum32())
	}
	if err != nil {
		return fmt.Errorf("graph: write: %w", err)
	}
	return nil
}

// readBinary reads the binary format and checks all of it.
func readBinary(in io.Reader, l Limits) (Pair, error) {
	r := binaryReader{in: in, sum: crc32.New(castagnoli), buffer: make([]byte, 1<<16)}
	header := r.bytes(binaryHeader)
	if r.err != nil {
		return Pair{}, r.err
	}
	version := binary.LittleEndian.Uint32(header[8:])
	flags := binary.LittleEndian.Uint32(header[12:])
	nodes, edges := binary.LittleEndian.Uint64(header[16:]), binary.LittleEndian.Uint64(header[24:])
	switch {
	case version != binaryVersion:
		return Pair{}, fmt.Errorf("%w: version %d of the binary format; this program reads version %d", ErrMalformed, version, binaryVersion)
	case flags&^(flagDirected|flagWeights|flagNames) != 0:
		return Pair{}, fmt.Errorf("%w: flags %#x are not of version %d", ErrMalformed, flags, binaryVersion)
	case nodes > MaxNodes || edges > MaxEdges:
		return Pair{}, fmt.Errorf("%w: %d nodes, %d edges", ErrTooLarge, nodes, edges)
	case listed(edges, flags) > l.Edges:
		return Pair{}, fmt.Errorf("%w: %d edges, at most %d", ErrLimit, listed(edges, flags), l.Edges)
	case nodes > l.Nodes:
		return Pair{}, fmt.Errorf("%w: %d nodes, at most %d", ErrLimit, nodes, l.Nodes)
	}
	g := &Graph{Offsets: r.words(nodes + 1), Targets: r.words(edges)}
	if flags&flagWeights != 0 {
		g.Weights = r.words(edges)
	}
	if flags&flagNames != 0 {
		halves := r.words(2 * nodes)
		g.IDs = make([]uint64, len(halves)/2)
		for v := range g.IDs {
			g.IDs[v] = uint64(halves[2*v]) | uint64(halves[2*v+1])<<32
		}
	}
	want := r.sum.Sum32()
	if sum := r.bytes(4); r.err == nil && binary.LittleEndian.Uint32(sum) != want {
		r.err = fmt.Errorf("%w: the checksum does not fit the file, which is damaged", ErrMalformed)
	}
	if r.err == nil {
		r.end()
	}
	if r.err != nil {
		return Pair{}, r.err
	}
	return g.finish(flags&flagDirected != 0)
}

// listed is the number of edges as a list has them: an undirected edge once.
func listed(edges uint64, flags uint32) uint64 {
	if flags&flagDirected == 0 {
		return edges / 2
	}
	return edges
}

// finish checks what a binary file says of a graph, and pairs it with its reverse.
func (g *Graph) finish(directed bool) (Pair, error) {
	if err := g.Check(); err != nil {
		return Pair{}, err
	}
	for v := range uint32(g.Nodes()) {
		row := g.Out(v)
		for i := 1; i < len(row); i++ {
			if row[i-1] > row[i] {
				return Pair{}, fmt.Errorf("%w: the targets of node %d do not ascend", ErrMalformed, v)
			}
		}
	}
	for e, w := range g.Weights {
		if w > maxWeight {
			return Pair{}, fmt.Errorf("%w: edge %d has weight %d, at most %d", ErrMalformed, e, w, uint32(maxWeight))
		}
	}
	if !directed {
		return Pair{Out: g, In: g}, g.symmetric()
	}
	in, err := Reverse(g)
	return Pair{Out: g, In: in}, err
}

// symmetric is nil if every edge has its reverse, as often and as heavy.
func (g *Graph) symmetric() error {
	next := make([]uint32, g.Nodes())
	copy(next, g.Offsets)
	for u := range uint32(g.Nodes()) {
		for e := g.Offsets[u]; e < g.Offsets[u+1]; e++ {
			// Tails come in ascending order, and so do the targets of v: the next
			// target of v that was not met has to be u.
			v := g.Targets[e]
			back := next[v]
			if back == g.Offsets[v+1] || g.Targets[back] != u || g.Weight(back) != g.Weight(e) {
				return fmt.Errorf("%w: the graph is called undirected, and the edge from node %d to node %d has no equal back", ErrMalformed, u, v)
			}
			next[v]++
		}
	}
	return nil
}

// binaryReader reads words; after an error it returns nothing.
type binaryReader struct {
	in     io.Reader
	sum    hash.Hash32
	buffer []byte
	err    error
}

// bytes returns the next n bytes, at most a buffer.
func (r *binaryReader) bytes(n int) []byte {
	if r.err != nil {
		return nil
	}
	if _, err := io.ReadFull(r.in, r.buffer[:n]); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			err = fmt.Errorf("%w: the file ends before the graph does", ErrMalformed)
		}
		r.err = readError(err)
		return nil
	}
	_, _ = r.sum.Write(r.buffer[:n]) // a hash never fails
	return r.buffer[:n]
}

// end checks that nothing follows. Of a compressed file it has the checksum of the
// compression checked too.
func (r *binaryReader) end() {
	switch n, err := io.ReadFull(r.in, r.buffer[:1]); {
	case n > 0:
		r.err = fmt.Errorf("%w: bytes follow the graph's end; the header's counts lie, or the file was put together", ErrMalformed)
	case !errors.Is(err, io.EOF):
		r.err = readError(err)
	}
}

// words returns the next n words. They grow with what arrives, whatever n says.
func (r *binaryReader) words(n uint64) []uint32 {
	words := make([]uint32, 0, min(n, 1<<16))
	for n > 0 && r.err == nil {
		part := min(n, uint64(len(r.buffer)/4))
		for b := r.bytes(int(4 * part)); len(b) >= 4; b = b[4:] {
			words = append(words, binary.LittleEndian.Uint32(b))
		}
		n -= part
	}
	return words
}
