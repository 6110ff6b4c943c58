// Package kernelcache keeps the programs of a device ready before they are needed,
// so that a launch never waits for a compiler.
//
// A [Store] holds the programs of [Kernel] values of any type: a device has one store, for
// the ring's kernels and for those of graph jobs, which share what is kept, who builds, and
// the statistics. [Store.Get] returns at once: a program that is ready, held until
// [Store.Release], or nothing. A missing program is then built
// in the background, and the caller goes on with what it has. [Store.Prefetch] has
// programs built ahead, in the order given. [Store.Wait] is for the very first program,
// without which nothing can start.
//
// # Ready
//
// A program is given out only after it was linked, checked and dispatched once
// with nothing to do, all of it where it was built, and the device finished
// that: drivers translate a kernel at its first dispatch, which takes up to a
// few hundred milliseconds and is no part of a launch.
//
// # Where programs are built
//
// On a second context of the device's share group, with a thread of its own
// (Target.Background), by one goroutine that takes the most urgent key first:
// what somebody waits for, what launches ask for (the newest first), what was
// prefetched. Without a second context the store has no goroutine: the caller
// says when a compilation may take the device's time, between launches, by
// [Store.BuildOne], or brackets it ([Store.WaitInTurns]).
//
// # Bounds
//
// Config.Programs are kept; the least recently used goes first, never one that
// is held, so while more are held there are more. Config.Queue keys wait at
// most. A kernel that cannot be built is tried again after 5 s, each time after twice
// as long, or at once if somebody waits, and reported once with the driver's log as
// long as it fails for the same reason.
//
// # Disk
//
// With a directory ([ringmaster/megakernel/kernelcache/disk]) the driver's
// binary is stored after a build and loaded instead of the next one. A binary
// that is damaged, that the driver refuses, or that does not pass the caller's
// check is reported once, removed, and built again from source. A directory that
// cannot be written to is reported once and only read from then on.
package kernelcache
