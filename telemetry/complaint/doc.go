// Package complaint logs what goes wrong without filling the log: each complaint
// about one subject at most once a minute, with the number of those left out.
// Whoever sends one malformed record sends a thousand a second.
//
// It lies below telemetry because everything that faces other people's records
// needs it: the bus, the actors and the worker.
package complaint
