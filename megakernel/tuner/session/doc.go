// Package session decides, for one queue, which tuner a launch report belongs
// to, when a tuner begins from what is remembered, and when what it learned is
// worth remembering.
//
// A [Session] holds a tuner for every kernel that the queue's launches named
// and every size of launch. Sizes are in buckets of a factor of four, because
// what is best for 500 slots is not best for 500,000. Observe takes a report; the
// [View] is what the next decision is asked for: a geometry by the size of its
// launches, or nothing, and now and then a look, which is for one launch.
//
// In the mode On a tuner is a live.Tuner over width, groups, chunk and depth. Looks are
// offered one at a time, while the device works for this queue for half of the time at
// least and the queue is not urgent. What launches earn for looks is never more than the
// time that has passed by our own clock, whatever reports say.
// In the modes Reference, ReferenceOn and ReferenceOff it is the original's tuner, launch
// plan and resize rule, the parts of tuner/reference in a row. With Off nothing is tuned.
//
// Reports come from any launcher. A report that names no kernel, or a geometry
// beyond the device's limits, or an impossible time, is refused with an error and
// changes nothing. A report of a geometry that is possible but not in the tuner's
// space, such as the policy's own, teaches nothing and is no error.
//
// A look that is never run as it is (because a plan sheds workgroups, or an
// engine has no such kernel) is given up after a while. A kernel that has to be
// built for it is charged as a loss.
//
// Everything here is a function of values and of what the [Memory] answers. A
// session is used by one goroutine at a time.
package session
