// Package frontier propagates values over graphs that stay on a GL 4.3 compute
// device: breadth-first levels, shortest paths, connected components, reachability
// and bit-vector dataflow.
//
// [Load] checks a graph against the device's limits and uploads it once, as the
// rows of its out-edges and those of its in-edges. [Resident.Run] runs a [Job]:
// it marks the sources and lets their values travel level by level until no
// value changes any more. The nodes whose value a level changed are the
// frontier of the next one.
//
// # Topologies
//
// How a level walks its frontier is its topology. Each is a way of its own to
// execute:
//
//	sparse              push: a workgroup takes a chunk of frontier nodes, adds up
//	                    their out-degrees, and its invocations share the edges; a
//	                    frontier of one chunk is shared by all workgroups
//	hybrid              push: nodes of many edges are cut into tiles, a workgroup
//	                    each; the rest as sparse
//	dense               pull: every unfinished node looks for frontier nodes among its
//	                    in-edges in a bitmap, and for breadth-first levels stops
//	                    at the first
//	fused               levels of few frontier nodes run one after the other inside one
//	                    dispatch; others are pulled as dense ones
//	memory-constrained  push in passes, over no more nodes at a time than the hit
//	                    buffer holds and with no more workgroups than ordered
//
// # The director
//
// Before each level the director decides its topology with the thresholds and the hysteresis of
// package policy ([Thresholds.Decide] is the same in Go; both equal policy.Classify). A round is
// a dispatch of the level kernel, with the same number of workgroups whatever the level: each of them makes the same
// decision for itself from what the round before counted, and the last one, which walks nothing, writes it down for the next round,
// orders the resident kernel and logs. On an H200 a dispatch and its barrier take 2.7 µs, and the decision about half of one more; a
// director of its own, and dispatches of as many workgroups as it orders, took 11, and a decision by the workgroup that ends last 3.7
// and the indirect dispatch 1.3. Where invocations are lanes of a processor's vectors, masked
// code costs as much as code that runs, and deciding in every workgroup would cost more than a dispatch: there the director
// is a kernel of its own, which writes the group counts of the indirect dispatches that follow, zero for what was not chosen,
// its own behind the end of the job included.
//
// The host enqueues rounds, eight at first and up to 64, before it looks at the outcome; the device
// is given the first at once and begins while the host enqueues the rest. What each level did is in a log on the device,
// which becomes [Result.Levels]. With [Job.Decide] the host decides each level. [Resident.Record]
// and [Resident.Replay] run a job again with the decisions that it made before and no director, to
// measure what deciding takes.
//
// A sparse level that the rule chose may run in the fused kernel too, if its frontier is as small:
// a grid has thousands of such levels. Its record says so (Level.Resident); the
// rule is applied between two such levels as between any others. Beginning that kernel takes
// longer than a few small levels, so the first levels of a job stay out of it. The kernel is one workgroup,
// or, on hardware which runs all of them at the same time, a team of several with a barrier
// between its levels. OpenGL promises no progress to who waits, so the workgroups first find out
// which of them run, and leave those out that come late; one that waits about a
// second nevertheless ends the job with [ErrStuck].
//
// Where invocations are lanes of a processor's vectors, the director runs such levels itself, from the first on. A dispatch
// takes some 50 µs there, for waking threads up, and the barriers of a workgroup of one vector next to nothing.
//
// # Kernels
//
// Kernels are assembled from the files under shaders and the constants of this
// package. Where invocations are lanes of few processors' vectors, as with Mesa's llvmpipe,
// a barrier of more than one vector costs more than it saves, and kernels of the same meaning without such barriers
// run ([Kernels]). Their loops are bounded, because such a driver ends long ones silently. What
// is too long for one invocation, or for one workgroup, is cut into tiles or pieces.
//
// Everything between host and device goes through one staging buffer of 8 MiB in
// host memory. NVIDIA's driver (580.159) moves buffers that the host itself reads or writes, and an
// indirect dispatch from one that was moved takes 15 µs of the host's time instead of 1.5.
//
// # Hits
//
// A node whose value changed is a hit. It is marked in the bitmap of the next
// frontier and, while there is room, written to the hit buffer. What finds the
// buffer full is requeued: it waits in the bitmap, and a later pass of its level
// gathers it from there. Nothing is lost and nothing grows with the frontier.
package frontier
