// Package configbucket keeps files of settings that processes share, in a JetStream key-value bucket with a history,
// RINGMASTER_CONFIG with the default prefix. A key is a name that processes are started with; a value is the text of a
// file. What it means, and whether it is right, is the callers' business.
package configbucket
