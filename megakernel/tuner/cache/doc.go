// Package cache keeps what the tuner learned beyond the end of the process:
// measurements and the geometry selected from them, in one TOML file for each
// device.
//
// [Open] returns at once and reads the file in the background. Until it has been
// read nothing is found: the tuner begins cold instead of waiting. [Cache.Put]
// changes memory only; a goroutine writes the file later. A write takes a lock
// beside the file, merges what other processes stored meanwhile, and replaces the
// file as a whole, so that a reader, or what a crash leaves, is either the old file
// or the new one.
//
// The file is data from outside. One that is not sound in every entry is not used, with a
// warning, and the next write keeps it aside under another name; one of a newer schema stays,
// and nothing is written. A failing write is reported once and tried again with the next
// change; tuning goes on in memory.
//
// The cache is bounded, and so is its file. Beyond a bound the entry that has not
// been used for the longest time is dropped. Use is counted by a clock of the
// cache's own that is stored with the entries, so that the order survives a restart.
package cache
