// Package health says from a reading of a node what keeps it from its work, in words for people and codes for
// programs. Pure.
package health
