// Package usage prints the command line for people and their shells, from the parser's model of it: examples behind a
// command's help, a manual page, and completion for bash, zsh and fish. The model is the one source: what a flag is
// called, takes and means is said where the flag is declared.
package usage
