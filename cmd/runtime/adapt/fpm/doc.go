// Package fpm reads ForwardPassMetrics, what the schedulers of SGLang and Dynamo publish
// after each iteration, and says what it tells of queues. It is pure: bytes in, values out.
//
// A message has three frames: an empty topic, a number of eight bytes that counts the
// publisher's messages, and a msgpack map. Of it the number of requests that wait is
// taken. A publisher whose scheduler gives it nothing sends a map of zeros once a second:
// that says that the publisher lives, and nothing of the queue, for a scheduler that
// hangs before a full queue gives it nothing either.
package fpm
