package ring

import (
	"slices"
	"testing"
)

func record(i uint32) *PrintRecord {
	return &PrintRecord{Sequence: i, Tenant: i / 7, Args: [PrintArgs]uint32{i, i * 3, 1, ^i}}
}

func TestPrintLogStaysReadableAfterItWraps(t *testing.T) {
	for _, start := range []uint32{0, 5, ^uint32(0) - 20} { // the last one wraps the number too
		log := make([]uint32, PrintLogWords(16))
		log[0] = start
		reader := PrintReader{next: start}
		written, read, lost := uint32(0), []PrintRecord(nil), uint32(0)
		for _, n := range []int{0, 3, 16, 17, 1, 0, 100, 15} {
			for range n {
				AppendPrint(log, record(written))
				written++
			}
			before := len(read)
			var over uint32
			var err error
			if read, over, err = reader.Read(read, log); err != nil {
				t.Fatal(err)
			}
			lost += over
			if want := uint32(max(n-16, 0)); over != want || len(read)-before != n-int(want) {
				t.Errorf("after %d records: read %d, %d overwritten, want %d", n, len(read)-before, over, want)
			}
			for i, r := range read[before:] {
				if r != *record(written - uint32(len(read)-before-i)) {
					t.Errorf("record %d is %+v", i, r)
				}
			}
		}
		if uint32(len(read))+lost != written {
			t.Errorf("%d written, %d read, %d lost", written, len(read), lost)
		}
	}
}

func TestTornPrintRecordIsCountedNotReturned(t *testing.T) {
	log := make([]uint32, PrintLogWords(4))
	for i := range uint32(4) {
		AppendPrint(log, record(i))
	}
	for word := range PrintRecordWords {
		torn := slices.Clone(log)
		torn[PrintHeaderWords+2*PrintRecordWords+word] ^= 1
		var reader PrintReader
		got, lost, err := reader.Read(nil, torn)
		if err != nil || lost != 1 || len(got) != 3 {
			t.Errorf("word %d changed: %d records, %d lost, error %v", word, len(got), lost, err)
		}
	}
	swapped := slices.Clone(log)
	at := PrintHeaderWords + 3
	swapped[at], swapped[at+1] = swapped[at+1]+1, swapped[at]
	var reader PrintReader
	if _, lost, _ := reader.Read(nil, swapped); lost != 1 {
		t.Error("exchanged words were not noticed")
	}
}

func TestPrintLogOfNoSizeIsRefused(t *testing.T) {
	for _, words := range []int{0, 7, 8, 15, 17, PrintLogWords(3)} {
		var reader PrintReader
		if _, _, err := reader.Read(nil, make([]uint32, words)); err == nil {
			t.Errorf("%d words were read", words)
		}
	}
}
