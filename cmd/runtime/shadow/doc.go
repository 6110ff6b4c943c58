// Package shadow compares launches of an engine that decides for itself with what a policy
// recommended for them, which nobody acted on: where the two differ, when, why, and what
// the difference cost. Its middle is values: what was heard with its times in, a report out.
package shadow
