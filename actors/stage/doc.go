// Package stage is what a stage of the decision remembers from one launch to the next: what
// it issued, what a successful launch committed, and what recent decisions left behind. It is
// values, which JSON carries from one process to another.
package stage
