// Package access says who may do what on the bus: the kinds of users, and the subjects
// that each of them may publish and subscribe. The table of rights is the one source of
// the permissions of docs/permissions.md, of the configurations that are printed for
// servers, and of what is tried to see whether a server keeps to them. It is pure.
package access
