// Package schema writes the JSON schemas of what the service answers and of what is told as events, from the Go types
// that are encoded: a schema cannot say anything else than what is sent.
package schema
