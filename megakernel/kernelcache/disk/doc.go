// Package disk keeps program binaries in a directory, so that a process that
// starts again does not compile what its last run compiled.
//
// A file is named by the hash of everything its content depends on: the kernel's
// source and the driver's vendor, renderer and version ([NameOf]). A new driver
// or a changed kernel therefore has another name, and nothing is ever
// overwritten with something of another meaning.
//
// # Trust
//
// Drivers execute what they load, mostly unchecked. Who can write into the
// directory can run code on the GPU and, through bugs of the driver, in the
// process. [Open] makes the directory for its owner alone and refuses one that
// belongs to somebody else or that others may write to. Checksums are against
// damage, not against an attacker.
//
// What lies in the directory is read as if it were hostile anyway: only regular
// files, no links, never more than 16 MiB of memory, and nothing
// reaches the driver whose header, length and checksum are not right.
//
// # File
//
// Little endian, 88 bytes of header, then the payload:
//
//	 0  8  magic "RMPROG\r\n"
//	 8  4  version of this layout, 1
//	12  4  the driver's binary format (an enum of GL)
//	16 32  the name, so that a renamed file is noticed
//	48  8  length of the payload in bytes
//	56 32  BLAKE3-256 of the 56 bytes before and the payload, in a domain of its own
//	88     payload
//
// # Concurrency
//
// Several processes may share a directory: a file appears by rename, whole or
// not at all. Methods of [Dir] may be called from any goroutine.
package disk
