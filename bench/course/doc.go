// Package course runs the whole loop beside what a user would do without it: a server, a worker with its ring, a
// publisher and a submitter on connections of their own, work that arrives in an open loop, and deciders by
// turns with the same arrivals.
//
// A cell is one load at one rate under one decider in one round: a rig of its own, from the server up, so that
// nothing but files that are named outlives it. Latency counts from the moment for which a batch was scheduled,
// so that waiting counts even for a submitter that has fallen behind. A cell in which a batch is lost, refused
// or incomplete is an error, not a figure.
//
// docs/course.md says how to read the tables. The pure parts are packages of their own: arrivals, decider,
// interval and chart.
package course
