package telemetry

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// hostileCorpus is every payload that the tests hold against the way from
// bytes to records: shapes that are too large for a file, shapes that make
// much of few bytes, and the committed corpus of the fuzz targets.
func hostileCorpus(t testing.TB) map[string][]byte {
	out := hostilePayloads(t)
	for name, payload := range amplifiers(t) {
		out[name] = payload
	}
	files, err := filepath.Glob(filepath.Join("testdata", "fuzz", "Fuzz*", "*"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d files of corpus, %v", len(files), err)
	}
	for _, file := range files {
		out[file] = corpusFile(t, file)
	}
	return out
}

// corpusFile reads a corpus file with one value of type []byte.
func corpusFile(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	must(t, err)
	_, value, _ := strings.Cut(strings.TrimSpace(string(content)), "\n")
	quoted, prefixed := strings.CutPrefix(value, "[]byte(")
	payload, err := strconv.Unquote(strings.TrimSuffix(quoted, ")"))
	if err != nil || !prefixed {
		t.Fatalf("%s: not a corpus file of one []byte: %v", path, err)
	}
	return []byte(payload)
}

// amplifiers are payloads within the limits that cost as much memory for a
// byte as the schema allows.
func amplifiers(t testing.TB) map[string][]byte {
	return map[string][]byte{
		"slots of three bytes": append(literal(t, "98 07 00 01 01 c0 c0 a1'b' dc1000"),
			bytes.Repeat([]byte{0x92, 0, 0}, MaxListedSlots)...),
		"runs of four bytes":                   append(literal(t, work+"dc0400"), bytes.Repeat([]byte{0x93, 0, 0, 1}, MaxRuns)...),
		"records of a byte, refused":           bytes.Repeat([]byte{0x90}, DefaultTelemetryLimits.MaxRecords),
		"records of two bytes, refused":        bytes.Repeat([]byte{0x91, 0x0f}, DefaultTelemetryLimits.MaxRecords),
		"records with a long text of what for": bytes.Repeat(literal(t, "97 04 00 01 01 c0 c0 c0"), DefaultTelemetryLimits.MaxRecords),
		"a new queue name in every record":     distinct(t, "96 01 00 01 01 c0", 1, DefaultTelemetryLimits.MaxRecords),
		"new capabilities in every record":     distinct(t, "dc0010 05 00 01 01 c0 c0 c0 c0 c0 c0 c0 c0 c0 c0 c0 dc0020", 32, 550),
	}
}

// distinct repeats a record that ends in strings of two bytes, no two alike.
func distinct(t testing.TB, head string, strings, records int) []byte {
	var out []byte
	n := uint16(0)
	for range records {
		out = append(out, literal(t, head)...)
		for range strings {
			name := fmt.Sprintf("%c%c", tokenText[n/64%64], tokenText[n%64])
			out = append(append(out, codeFixStr|2), name...)
			n++
		}
	}
	return out
}

const tokenText = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// allocated returns the bytes that f allocates, and whatever else runs.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// allowance is the most that checking and decoding a payload may allocate.
func allowance(payload []byte) uint64 { return 4*uint64(len(payload)) + 1<<20 }

// admit goes the way of a receiver: what the check refuses is not decoded.
func admit(d *Decoder, r *Record, payload []byte, limits CheckLimits) (records, refusals int, err error) {
	if _, err := Check(payload, limits); err != nil {
		return 0, 0, err
	}
	d.Reset(payload)
	for range len(payload) {
		switch err := d.Next(r); err {
		case nil:
			records++
		case io.EOF:
			return records, refusals, nil
		default:
			refusals++
		}
	}
	return records, refusals, nil
}

func TestHostileCorpusAllocatesAtMostFourTimesItsBytes(t *testing.T) {
	for name, payload := range hostileCorpus(t) {
		for _, limits := range []CheckLimits{DefaultTelemetryLimits, DefaultWorkLimits} {
			n := allocated(func() { admit(new(Decoder), new(Record), payload, limits) })
			if n > allowance(payload) {
				t.Errorf("%s: %d bytes allocated for a payload of %d, at most %d", name, n, len(payload), allowance(payload))
			}
		}
	}
}

// Without this the test above would hold for payloads that are all refused.
func TestAmplifiersAreWithinTheLimits(t *testing.T) {
	for name, payload := range amplifiers(t) {
		if _, _, err := admit(new(Decoder), new(Record), payload, DefaultTelemetryLimits); err != nil {
			t.Errorf("%s, %d bytes: %v", name, len(payload), err)
		}
	}
}
