// Package audit proves of the stream of decisions that no number of a queue was decided twice and
// none is missing, or names the place where that is not so. It takes messages in the order of the
// stream, and knows neither a server nor a clock.
package audit
