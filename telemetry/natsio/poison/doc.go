// Package poison keeps batches that were delivered too often without an outcome, because whatever
// touches them ends, in a JetStream stream of their own, RINGMASTER_POISON with the default prefix.
// Its subjects are <prefix>.poison.<worker>.<queue>; a message is the batch's record as it came, with
// why it is there in the headers. A Keeper puts batches there; the functions list them, run one again
// and remove it.
//
// The stream has room for 64 batches of a queue and 256 MiB in all, for 30 days; the oldest go first.
package poison
