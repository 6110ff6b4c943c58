// Package texttest runs the rules of a package that are written down as text files: cases of
// an input and of what the rules make of it.
package texttest
