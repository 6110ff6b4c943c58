// Package text makes what commands print for people: tables, numbers, and words from
// outside that a terminal must not obey.
package text
