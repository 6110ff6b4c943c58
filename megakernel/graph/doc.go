// Package graph holds graphs in compressed sparse row form: types, building,
// file formats, generators and reference algorithms. It knows no device.
//
// A Graph lists the out-edges of its nodes; a Pair is a graph with its reverse.
// Nodes are numbered 0 to n-1; where a file calls them otherwise, Graph.IDs has
// the names in ascending order. Counts of nodes and of edges fit 32 bits.
//
// Build is deterministic: the same edges give the same arrays, whatever the
// number of processors. The rows come out sorted.
//
// Files are read as hostile: memory follows the bytes that arrived, never a
// count that a file claims. The formats are described in docs/graphs.md.
//
// The reference algorithms are plain code to compare with; they are not fast.
package graph
