// Package userop reads operators' own opcodes: GLSL files from the worker's
// disk, one opcode a file, each a small header of comment lines and the
// statements the opcode consists of.
//
// A body is checked token by token before a kernel is made of it. It sees no
// memory and no function of GLSL that could reach some; it reads and writes its
// tenant's window through the accessors that Accessors lists, and each of them
// checks bounds. Loops have a bound that is counted against the number of steps
// the header declares. What the header declares is compared with what the body
// does.
//
// A file may also declare a join: what travels along an edge of a graph, and how
// a node takes over what arrives; see [ParseJoin].
//
// The package is pure: it reads an fs.FS and returns values.
package userop
