// Package slots is the language in which people write slots and the words of a window: specifications of slots, files
// that are copied to a window, ranges of it that are printed, and the opcodes that a command knows.
package slots
