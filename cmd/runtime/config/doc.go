// Package config reads a file of settings: TOML whose keys are the flags of `run`, and a table [policy] of thresholds. It
// knows where each key stands, so that a mistake is named with its line. Pure.
package config
