package main

import (
	"bufio"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
)

// dump writes a graph with its sources to a folder, for bench/cuda/bfs.cu:
// little-endian 32-bit words, namely nodes, edges, the number of sources, the
// sources, the offsets of the rows and the targets.
func (g *searched) dump(folder string) (err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(folder, g.fileName()))
	if err != nil {
		return err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
	}()
	out := g.pair.Out
	w := bufio.NewWriterSize(f, 1<<20)
	head := []uint32{uint32(out.Nodes()), uint32(out.Edges()), uint32(len(g.sources))}
	var word [4]byte
	for _, words := range [][]uint32{head, g.sources, out.Offsets, out.Targets} {
		for _, v := range words {
			binary.LittleEndian.PutUint32(word[:], v)
			if _, err := w.Write(word[:]); err != nil {
				return err
			}
		}
	}
	return w.Flush()
}

// fileName is the name of the file for a specification, such as kronecker-20.graph.
func (g *searched) fileName() string {
	return strings.ReplaceAll(g.spec, ":", "-") + ".graph"
}
