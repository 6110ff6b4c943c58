// Package order says which record of a publisher, and which announcement of a worker, is newer
// than all before it, and which publisher of several counts. It is values; instants are arguments.
package order
