// Package tuned is what a worker remembers of its tuners' results and shares with
// others: files that outlive the process, and a bucket on the bus for workers that have
// the same kind of device.
//
// What was measured here comes first. What anybody else says, through the bucket or in
// launch reports of a worker of his own, is a hint where to look, and passes the same
// checks as a file.
package tuned
