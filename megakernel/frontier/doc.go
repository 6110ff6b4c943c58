// Package frontier propagates values over graphs that stay on a GL 4.3 compute
// device: breadth-first levels, shortest paths, connected components, reachability
// and bit-vector dataflow.
//
// [Load] checks a graph against the device's limits and uploads it once, as the
// rows of its out-edges and those of its in-edges. [Resident.Run] runs a [Job]:
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
// Before each level the director decides its topology with the thresholds and the
// hysteresis of package policy ([Thresholds.Decide] is the same in Go; both equal
// policy.Classify). A round is one dispatch of the level kernel, with the same number
// of workgroups whatever the level. Each workgroup makes the same decision for itself
// from what the round before counted and from a plan, which has all that the decision
// needs and that was known before. The first workgroup, which walks nothing, writes the
// decision and the plan of the next round down, orders the resident kernel and logs. On
// an H200 a dispatch and its barrier take 2.7 µs, and the decision adds .2 to .5 µs. The
// alternatives cost more: a director kernel of its own with dispatches of as many
// workgroups as it orders took 11 µs; deciding in the workgroup that ends last took
// 3.7 µs, and the indirect dispatch another 1.3 µs.
//
// Where invocations are lanes of a processor's vectors, masked code costs as much as
// code that runs, and deciding in every workgroup would cost more than a dispatch.
// There the director is a kernel of its own. It writes the group counts of the indirect
// dispatches that follow: zero for those that were not chosen and, behind the end of
// the job, for its own.
//
// The host enqueues several rounds, eight at first and up to 64, before it looks at the
// outcome. The driver gets the first round at once, so that the device begins while the
// host enqueues the rest. What each level did is in a log on the device, which becomes
// [Result.Levels]. With [Job.Decide] the host decides each level. [Resident.Record] and
// [Resident.Replay] run a job again with the decisions that it made before and without
// a director, to measure what deciding costs.
//
// A sparse level that the rule chose may run in the fused kernel too if its frontier is
// as small: a job on a grid has thousands of such levels. Level.Resident tells these
// levels apart; the rule is applied between two of them as between any others.
// Beginning that kernel takes longer than a few small levels, so the first levels of a
// job stay out of it. The kernel is one workgroup, or, on hardware that runs all of them
// at the same time, a team of several with a barrier between its levels. OpenGL does not
// promise that a workgroup makes progress while another waits for it. The workgroups
// therefore first find out which of them run, and leave out those that come late; one
// that nevertheless waits about a second ends the job with [ErrStuck].
//
// Where invocations are lanes of a processor's vectors, the director runs such levels
// itself, from the first level on: a dispatch takes some 50 µs there, because threads
// have to be woken up, and the barriers of a workgroup of one vector cost next to
// nothing.
//
// # Kernels
//
// Kernels are assembled from the files under shaders and the constants of this
// package. Where invocations are lanes of the vectors of a few processors, as with
// Mesa's llvmpipe, a barrier across more than one vector costs more than it saves, and
// kernels of the same meaning without such barriers run ([Kernels]). Their loops are
// bounded, because such a driver ends long loops silently. What is too long for one
// invocation, or for one workgroup, is cut into tiles or pieces.
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
