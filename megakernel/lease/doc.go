// Package lease runs small submissions on a kernel that stays on the device between them.
// A wave of a few slots costs its dispatch and the wait for it, 20 µs and more; a round of
// 16 slots on a lease takes about 4 µs.
//
// # The mailbox
//
// Host and kernel share a mapped buffer (its layout is in kernel/mailbox.go). The host
// writes a record for each slot, then the tail, which names the round; the kernel, one
// workgroup, polls the tail, runs the slots, writes their outcomes, and then the tail
// that it has answered. A tail is written last and read first, with release and acquire
// order, and hardware checks each record against its sum, because it reads records ahead
// of knowing that they are new.
//
// # Every slot runs once
//
// A round is acknowledged as a whole. When a kernel has ended and its dispatch is known to
// be over, the mailbox says whether the last round was answered, or never begun: then the
// next kernel finds it there. A round that was begun and not answered is [ErrBroken]: it
// is not known which of its slots ran, and no kernel is started any more.
//
// # Its end
//
// A kernel ends by itself after a bounded number of turns, which the self-test calibrates,
// because a hung dispatch cannot be ended from outside; and when the host's stop word
// names it. While it is there the device's thread is busy with it, so whoever gives that
// thread other work ends it first.
//
// # Locks
//
// Lease.mu lets one round or one end be under way at a time; it is held while a round is
// awaited. A kernel's own goroutine takes no lock: it dispatches, waits for the fence, and
// closes the channel gone, after which what the kernel wrote is visible.
package lease
