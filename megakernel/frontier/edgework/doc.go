// Package edgework counts the edges that a breadth-first search looks at when
// it pushes or pulls each level, and what a sequence of decisions makes of
// them. It is the yardstick of the topology rules: the count depends on the
// graph and the source alone, not on a device, so that a rule can be compared
// with the best choice of every level, which Oracle knows and no rule can.
//
// A push looks at every edge that leaves the frontier. A pull looks at the
// edges that enter each vertex not reached so far, up to the first that comes
// from the frontier, and finds those vertices by a scan of one word for each
// 64, which counts as an edge. This is the count of Beamer, Asanovic and
// Patterson, "Direction-Optimizing Breadth-First Search", SC 2012.
package edgework
