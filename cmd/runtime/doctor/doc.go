// Package doctor puts into words what an operator wants to know first: of a running process, from the state that its
// service tells, what it is, what is wrong, and how far behind it is; of a device, what it holds; of a server, how much
// room it has left. Pure.
package doctor
