// Package decided keeps the decisions of all runtimes in one JetStream stream, RINGMASTER_DECIDED with the
// default prefix. The messages of <prefix>.decided.<worker>.<queue> are the queue's decisions, one each, in
// their order: recommendations as subscribers read them, which also have what the next decision builds on.
// A message is stored only as the successor of the one that its writer names, and the server publishes it on
// <prefix>.recommend.<worker>.<queue> once it is stored. So what subscribers see, what runtimes go on from and
// what is replayed are one thing. The texts of the policies' configurations are in the same stream, on
// <prefix>.policy.<name>.
//
// A Store writes, a Follower hears what any runtime has stored, and Read has all that there is. Package
// actors/fence has the protocol, whose store this is; what a recommendation's decided means is not known here.
package decided
