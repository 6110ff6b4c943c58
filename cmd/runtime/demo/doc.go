// Package demo is the whole loop in one process, on recorded load: a server, a worker, a publisher that
// replays the trace, and a subscriber that watches. The publisher and the subscriber know what any other on
// the bus knows; Summary holds against each other what they and the worker counted, and Comparison what the same
// load took under the decision and without it.
//
// Player alone replays the trace on any server, for `publish trace`.
package demo
