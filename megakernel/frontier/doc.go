// Package frontier propagates values over graphs that stay on a GL 4.3 compute
// device: breadth-first levels, shortest paths, connected components, reachability
// and bit-vector dataflow.
//
// [Load] checks a graph against the device's limits and uploads it once, as the
// rows of its out-edges and those of its in-edges. [Graph.Run] runs a [Job]:
// it marks the sources and lets their values travel level by level until no
// value changes any more. The nodes whose values a level changed are the
// frontier of the next level.
//
// # Topologies
//
// The topology of a level is the way in which it walks its frontier:
//
//	sparse              push: a workgroup takes a chunk of frontier nodes, adds up
//	                    their out-degrees, and its invocations share the edges; a
//	                    frontier of one chunk is shared by all workgroups
//	hybrid              push: nodes with many edges are cut into tiles, one workgroup
//	                    per tile; the other nodes are pushed as in sparse
//	dense               pull: every unfinished node looks for frontier nodes among its
//	                    in-edges in a bitmap; in breadth-first jobs it stops at the
//	                    first
//	fused               levels of few frontier nodes run one after the other inside one
//	                    dispatch; others are pulled as in dense
//	memory-constrained  push in passes, over no more nodes at a time than the hit
//	                    buffer holds and with no more workgroups than ordered
//
// # The director
//
// The director decides each level's topology on the device, with the thresholds and the
// hysteresis of package policy (shaders/decide.glsl; a test compares it with
// policy.Classify). A round is one dispatch of the level kernel, with the same number of
// workgroups whatever the level. Each workgroup makes the same decision for itself, from
// what the round before counted; the first also writes it down for the next round and
// logs. So nothing but a barrier is needed between two rounds, which on an H200 takes
// 2.7 µs with the dispatch. A director kernel of its own, with indirect dispatches of as
// many workgroups as it orders, took 11 µs.
//
// The host enqueues several rounds, eight at first and up to 64, before it looks at the
// outcome. The driver gets the first round at once, so that the device begins while the
// host enqueues the rest. What each level did is in a log on the device, which becomes
// [Result.Levels]; behind the job the policy decides the levels again and says why.
// With [Job.Decide] the host decides each level.
//
// A sparse level that the rule chose may run in the persistent kernel, like a fused one, if
// its frontier is as small: a job on a grid has thousands of such levels. The rule is
// applied between two of them as between any others. Beginning that kernel takes longer
// than a few small levels, so the first levels of a job stay out of it. The kernel is one
// workgroup on a software renderer, and on hardware a team of several with a barrier
// between its levels. OpenGL does not promise that a workgroup makes progress while another
// waits for it. The workgroups therefore first find out which of them run, and leave out
// those that come late; one that nevertheless waits about a second ends the job with
// [ErrStuck].
//
// # Kernels
//
// Kernels are assembled from the files under shaders and the constants of this
// package; shaders/control.glsl has the blocks, and layout.go the same words in Go. What is
// too long for one workgroup is cut into tiles or pieces. A software renderer ends long
// loops silently, so there a dispatch has enough workgroups that no loop is long.
//
// A kernelcache.Store has their programs, the one that the ring of the device uses too. A
// job waits for its own before its first turn, without the device if the store builds on a
// second context; otherwise each build is a turn of its own.
//
// Everything between host and device goes through one staging buffer of 8 MiB in host
// memory. NVIDIA's driver (580.159) moves buffers that the host reads or writes directly,
// and an indirect dispatch from a buffer that was moved takes 15 µs of the host's time
// instead of 1.5 µs.
//
// # Hits
//
// A node whose value changed is a hit. It is marked in the bitmap of the next
// frontier and, while there is room, written to the hit buffer. A hit that finds the
// buffer full is requeued: it waits in the bitmap, and a later pass of its level
// gathers it from there. No hit is lost, and no memory grows with the frontier.
package frontier
