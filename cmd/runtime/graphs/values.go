package graphs

import (
	"io"
	"strconv"

	"ringmaster/megakernel/graph"
)

// WriteValues writes a line for each node: its name in the file, and its value or its facts.
func (s *Spec) WriteValues(w io.Writer, g *graph.Graph, passes []Pass, values [][]uint32) error {
	var line []byte
	for v := range uint32(g.Nodes()) {
		line = strconv.AppendUint(line[:0], g.ID(v), 10)
		switch {
		case s.Facts != nil:
			line = appendFacts(line, " arrives ", s.Facts.Names, func(i int) uint32 { return values[i][v] })
			line = appendFacts(line, " leaves ", s.Facts.Names, func(i int) uint32 { return passes[i].Facts.Leaves(v, values[i][v]) })
		case s.Algorithm == "cc":
			line = strconv.AppendUint(append(line, ' '), g.ID(values[0][v]), 10)
		case s.Algorithm != "reach" && values[0][v] == s.Nothing():
			line = append(line, " -1"...)
		default:
			line = strconv.AppendUint(append(line, ' '), uint64(values[0][v]), 10)
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return nil
}

// appendFacts appends the names of facts behind a keyword, and nothing if there are none.
func appendFacts(line []byte, keyword string, names []string, bits func(pass int) uint32) []byte {
	separator := keyword
	for i, name := range names {
		if bits(i/graph.FactsPerPass)>>(i%graph.FactsPerPass)&1 != 0 {
			line = append(append(line, separator...), name...)
			separator = ","
		}
	}
	return line
}
