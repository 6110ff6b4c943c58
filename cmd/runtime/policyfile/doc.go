// Package policyfile reads the configuration of a policy that somebody wrote: a TOML
// file that says what it begins with and which constants differ from that.
//
//	[policy]
//	base = "standard"              # or "reference"; standard if it is left out
//	jit_queue_len_threshold = 8192
//	dwell = 4
//
//	[policy.sizing]
//	batch_depth = 16384
//
// The names and units are those of policy.Config. A key that it does not have, a value out
// of range and constants that contradict each other are errors.
package policyfile
