// Package cache keeps what the tuner learned when the process ends:
// measurements and the geometry selected from them, in one TOML file for a
// device.
//
// [Open] returns at once and reads the file in the background; until it has,
// nothing is found, which is a cold start and no wait. [Cache.Put] changes
// memory only; a goroutine writes behind it. A write takes a lock beside the
// file, merges what other processes stored meanwhile, and replaces the file as
// a whole, so a reader or a crash sees the old file or the new one.
//
// The file is data from outside. Entries that make no sense are dropped one by
// one with a warning, and before the first write the file they came from is
// kept aside under a name of its own. A file of a newer schema is left alone:
// nothing is read from it and nothing is stored. Failing writes are reported
// once and tried again with the next change; tuning goes on in memory.
//
// The cache is bounded, and so is its file. Beyond a bound the entry that has not been used for
// the longest is dropped; use is counted by a clock of its own that is stored
// with the entries, so the order survives a restart.
package cache
