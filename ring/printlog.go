package ring

import (
	"fmt"
	"math/bits"
)

// Layout of the print log: a header whose first word counts all records ever
// begun, wrapping at 2^32, then a power of two of records that are reused in
// turn. A record is its number, the slot's sequence and tenant, PrintArgs
// words of the slot, and a check word over the others, so that a record which
// two invocations wrote at the same time is recognised.
const (
	PrintHeaderWords = 8
	PrintRecordWords = 8
	PrintArgs        = 4
)

// PrintRecord is what one print slot left.
type PrintRecord struct {
	Sequence uint32 // the slot's running number in its queue
	Tenant   uint32
	Args     [PrintArgs]uint32
}

// PrintLogWords is the size in words of a log that keeps records records, a
// power of two.
func PrintLogWords(records int) int { return PrintHeaderWords + records*PrintRecordWords }

// PrintCheck is the check word of a record with a number. The kernel computes
// the same: each word is added and the sum multiplied, so neither a changed
// nor an exchanged word leaves it as it was.
func PrintCheck(number uint32, r *PrintRecord) uint32 {
	check := uint32(0x9E3779B9)
	for _, word := range [...]uint32{number, r.Sequence, r.Tenant, r.Args[0], r.Args[1], r.Args[2], r.Args[3]} {
		check = (check + word) * 0x85EBCA6B
		check ^= check >> 15
	}
	return check
}

// AppendPrint writes a record the way the kernel does.
func AppendPrint(log []uint32, r *PrintRecord) {
	number := log[0]
	log[0]++
	records := uint32(len(log)-PrintHeaderWords) / PrintRecordWords
	at := PrintHeaderWords + (number&(records-1))*PrintRecordWords
	copy(log[at:], []uint32{number, r.Sequence, r.Tenant, r.Args[0], r.Args[1], r.Args[2], r.Args[3], PrintCheck(number, r)})
}

// PrintReader follows a print log. The zero value begins at its first record.
type PrintReader struct {
	next uint32 // number of the next record
}

// Read appends to dst the records that were written since the last call, in
// the order of their numbers, and counts those that are lost because later
// ones took their places. words is the whole log, read while no kernel writes
// it; an error says that it has no such size and nothing was read.
func (p *PrintReader) Read(dst []PrintRecord, words []uint32) (records []PrintRecord, overwritten uint32, err error) {
	n := (len(words) - PrintHeaderWords) / PrintRecordWords
	if n < 1 || bits.OnesCount(uint(n)) != 1 || len(words) != PrintLogWords(n) {
		return dst, 0, fmt.Errorf("ring: a print log of %d words, want a header of %d and a power of two of records of %d words", len(words), PrintHeaderWords, PrintRecordWords)
	}
	cursor := words[0]
	if behind := cursor - p.next; behind > uint32(n) {
		overwritten = behind - uint32(n)
		p.next = cursor - uint32(n)
	}
	for ; p.next != cursor; p.next++ {
		w := words[PrintHeaderWords+int(p.next&uint32(n-1))*PrintRecordWords:]
		r := PrintRecord{Sequence: w[1], Tenant: w[2], Args: [PrintArgs]uint32(w[3:7])}
		if w[0] != p.next || w[7] != PrintCheck(p.next, &r) {
			overwritten++
			continue
		}
		dst = append(dst, r)
	}
	return dst, overwritten, nil
}
