// Package adapt carries what engines publish in their own formats over to queue records:
// one subscription for each engine, opened again when it ends, and the words for what it
// has had.
package adapt
