package telemetry

import "fmt"

// CheckLimits are the caps of the structure check. All are inclusive.
type CheckLimits struct {
	MaxBytes   int // of one payload
	MaxRecords int // of one payload
	MaxItems   int // values of one payload: scalars, containers and map keys
	MaxString  int // bytes of one string or byte string
	MaxDepth   int // containers inside each other, the record being the first; at most 8
}

// maxDepth is the deepest nesting that CheckLimits can allow.
const maxDepth = 8

// DefaultTelemetryLimits fits everything but work, heaps and what a recommendation has for runtimes: 64 KiB hold more than 400
// full queue records.
var DefaultTelemetryLimits = CheckLimits{
	MaxBytes: 64 << 10, MaxRecords: 1024, MaxItems: 32 << 10, MaxString: 4096, MaxDepth: maxDepth,
}

// DefaultRecommendationLimits fits a recommendation, whose decided may have MaxDecided bytes.
var DefaultRecommendationLimits = CheckLimits{
	MaxBytes: 64 << 10, MaxRecords: 1024, MaxItems: 32 << 10, MaxString: MaxDecided, MaxDepth: maxDepth,
}

// DefaultWorkLimits fits a batch of MaxListedSlots slots with every argument at
// its widest encoding, 4096 × (1 + 14 × 5) bytes, 4096 × 15 values, and the words of
// an argument of MaxBatchSlots slots.
var DefaultWorkLimits = CheckLimits{
	MaxBytes: 1 << 20, MaxRecords: 64, MaxItems: 128 << 10, MaxString: MaxBatchSlots * wordBytes, MaxDepth: maxDepth,
}

// DefaultHeapLimits fits one transfer of MaxHeapWords words.
var DefaultHeapLimits = CheckLimits{
	MaxBytes: MaxHeapWords*wordBytes + 4096, MaxRecords: 1, MaxItems: 256, MaxString: MaxHeapWords * wordBytes, MaxDepth: maxDepth,
}

// Check walks a payload once, before anything is decoded, and returns the
// number of its records. It is iterative, looks at lengths only, allocates
// nothing when it accepts, and refuses: bytes that end early, counts that
// cannot fit in the bytes left, nesting, values, strings, records and bytes
// above the limits, extension types, and records that are neither a map nor an
// array. The error is a *RecordError. A payload that fails is refused whole:
// where one length lies, the borders of the records after it mean nothing.
func Check(payload []byte, limits CheckLimits) (records int, err error) {
	if len(payload) == 0 {
		return 0, checkError(0, refuseMalformed, "empty payload")
	}
	if len(payload) > limits.MaxBytes {
		return 0, checkError(0, refuseOversized, fmt.Sprintf("payload of %d bytes, at most %d", len(payload), limits.MaxBytes))
	}
	depthLimit := min(limits.MaxDepth, maxDepth)
	items, i := 0, 0
	for i < len(payload) {
		if records == limits.MaxRecords {
			return 0, checkError(records, refuseOversized, fmt.Sprintf("more than %d records", limits.MaxRecords))
		}
		h, f := headAt(payload, i)
		if f == accepted && !h.container {
			f = refuseMalformed
		}
		if f != accepted {
			return 0, checkError(records, f, fmt.Sprintf("byte %d: want a map or an array", i))
		}
		n, f := checkRecord(payload[i:], h, limits, depthLimit, &items)
		if f != accepted {
			return 0, checkError(records, f, fmt.Sprintf("at byte %d", i+n))
		}
		i += n
		records++
	}
	return records, nil
}

// checkRecord walks the record whose head is h and returns its size, or where
// it was refused. items is the number of values so far; a container counts its
// children ahead.
func checkRecord(b []byte, h head, limits CheckLimits, depthLimit int, items *int) (int, refusal) {
	if *items += 1 + h.children; *items > limits.MaxItems || depthLimit < 1 {
		return 0, refuseOversized
	}
	// open[d] is the number of values still to come in the container at depth
	// d, for those around the one that is being walked; n is for that one.
	var open [maxDepth + 1]int
	depth, n, i := 1, h.children, h.size
	for {
		i, n = skipScalars(b, i, n, limits.MaxString)
		if n == 0 {
			if depth--; depth == 0 {
				return i, accepted
			}
			n = open[depth]
			continue
		}
		h, f := headAt(b, i)
		if f != accepted {
			return i, f
		}
		if h.length > limits.MaxString {
			return i, refuseOversized
		}
		n--
		if h.container {
			if depth == depthLimit {
				return i, refuseOversized
			}
			if *items += h.children; *items > limits.MaxItems {
				return i, refuseOversized
			}
			open[depth] = n
			depth++
			n = h.children
		}
		i += h.size
	}
}

// skipScalars steps over up to n scalars and short strings that are whole, and
// returns the position of the first value that is neither, and how many are
// left with it. Most values are scalars of one byte, so those are told by
// comparisons, which the processor predicts, and do not wait for a table.
func skipScalars(b []byte, i, n, maxString int) (after, left int) {
	for n > 0 && i < len(b) {
		c := b[i]
		if c <= codePosFixMax || c == codeNil {
			i++
			n--
			continue
		}
		size := int(scalarSize[c])
		if size == 0 {
			if size = 1 + int(c&0x1f); c&0xe0 != codeFixStr || size > 1+maxString {
				break
			}
		}
		if size > len(b)-i {
			break
		}
		i += size
		n--
	}
	return i, n
}

func checkError(index int, f refusal, detail string) error {
	return &RecordError{Index: index, Reason: f.reason(), Err: fmt.Errorf("%s", detail)}
}
