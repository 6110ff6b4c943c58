// Package session decides, for one queue, which tuner a launch report belongs
// to, when a tuner begins from what is remembered, and when what it learned is
// worth remembering.
//
// A [Session] holds a tuner for every kernel that the queue's launches named
// and every size of launch: sizes are in buckets of a factor of four, because
// what is best for 500 slots is not for 500,000. Observe takes a report; the
// [View] is what the next decision is asked to do, by the length of its queue.
//
// In the mode On a tuner is a live.Tuner over width, groups, chunk and depth. In
// the mode Natural it is the natural gradient over the original's six widths.
// With Off nothing is tuned.
//
// Reports come from any launcher. One that names no kernel, or a geometry
// beyond the device's limits, or a time that cannot be, is refused with an
// error and changes nothing. One that ran at a geometry which is possible but
// not of the tuner's space, such as the policy's own, teaches nothing and is no
// error.
//
// A suggestion that does not come back (a plan that sheds workgroups, an engine
// that has no such kernel) is given up after a while, so that an exploration
// always ends.
//
// Everything here is a function of values and of what the [Memory] answers. A
// session is used by one goroutine at a time.
package session
