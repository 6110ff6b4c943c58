// Package edgework counts the edges that a breadth-first search looks at when
// it pushes or pulls each level, and adds them up for a sequence of decisions. It
// is the yardstick of the topology rules: the count depends only on the graph and
// the source, not on a device, so that a rule can be compared with the best choice
// at every level, which Oracle knows and no rule can know.
//
// A push looks at every edge that leaves the frontier. A pull looks at the edges
// that enter each vertex not reached so far, up to the first edge that comes from
// the frontier. It finds those vertices by a scan that reads one word per 64
// vertices; each word counts as an edge. This is the count of Beamer, Asanovic and
// Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
package edgework
