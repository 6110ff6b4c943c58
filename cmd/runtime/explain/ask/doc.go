// Package ask reads what an explanation is made of: a queue's decisions in the stream, whether somebody decides for it
// now, and what waits. It changes nothing.
package ask
