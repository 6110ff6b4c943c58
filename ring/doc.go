// Package ring defines the memory that host and device share when the
// megakernel executes work, and keeps the host's side of it.
//
// A unit of work is a [Slot] of 16 words. Two more words belong to a slot but
// live in arrays of their own: its [Status], so that finding work and handing
// it back touches 4 bytes instead of 64, and its result. Slots come in pages
// of [PageSlots] slots of one priority, taken from one [Pool]. One dispatch, a
// wave, gets an immutable schedule of [Entry] values, a page and how many of
// its first slots count, which a [Queue] orders by deficit round robin over
// the priorities; it claims positions of that schedule by advancing one ticket
// in its [Control] block and reports its totals there.
//
// Every number of this layout is a constant or a struct of this package.
// [Prelude] prints them as GLSL, so the shaders contain none of their own.
//
// The life of a slot:
//
//	empty -> published            the host appends it to a page
//	published -> done, fault      a wave attempted it; final
//	published -> yielded, requeued  a wave attempted it; it goes round again
//	yielded, requeued -> published  the host puts it into a later wave
//	done, fault -> empty          the host has read result and status
//	published -> empty            the host dropped it while no wave had it
//
// A wave that ends before it reaches a slot leaves it published, and the next
// wave finds it there. No state says that a kernel has a slot in hand: waves claim
// whole chunks by ticket, and rounds of a lease have one owner.
//
// Two more blocks are for the kernels' own: the cold list, slots that a fused
// kernel leaves to the interpreter behind it, and the print log.
//
// The package imports the standard library only. Its types are not safe for
// concurrent use; the engine that owns them serialises access.
package ring
