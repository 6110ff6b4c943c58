// Package texttest is for tests of text: rules that are written down as files, cases of an input and of what a package
// makes of it; and logs that are read while they are written.
package texttest
