// Package decisionlog is the log of what every decision was made from and what came of
// it, so that policy.Decide gives the same result again at any later time, on any
// machine. It does no I/O but to read from an io.Reader.
//
// A log is JSON lines, each with one object:
//
//	{"type":"header","id":"5f0c2a91","entry":{…},"crc32c":"…"}    begins a section
//	{"type":"decision","id":"5f0c2a91","entry":{…},"crc32c":"…"}  a decision under the header of that id
//
// The entry of a header is a Header, that of a decision an Entry. crc32c is the CRC-32C
// (Castagnoli) of the text of type, id and entry back to back, as eight hexadecimal
// digits; the text of an entry is its bytes as they stand in the line. id is the sum of
// the header's entry, so a decision whose header was lost is told from one of another
// header. Lines of other types and empty lines are skipped. A damaged line is reported
// and the next one is read: damage costs the line that it hits, or, where it hits a
// header, the decisions under it.
//
// A process writes a header when it opens a log and again wherever a reader may begin: at
// the start of every file. Logs one after the other are a log. What the stream of decisions
// has of a decision, a Decided, is one JSON object without lines and sums.
//
// Keys are snake_case. A field that is zero is left out, and a key that is missing is
// zero, so a switch that an old log does not name is off. A key that this version does
// not know is skipped and remembered, see Reader.Unknown: a newer version wrote it, and
// the decision may have depended on it. Enumerations and bit sets are text. Integers have
// up to 64 bits; the incarnations, which are random and use all of them, are written as
// hexadecimal text, because many JSON readers round such numbers. A line has at most
// MaxLine bytes.
package decisionlog
