package main

import (
	"bufio"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"ringmaster/telemetry"
)

// soakTolerance is by how much, relatively, the memory in the last quarter may differ
// from that in the second one; the first quarter fills caches and pools.
const soakTolerance = 0.05

// malformed is refused after the structure check: its queue length is a text.
var malformed = []byte("\x83\xa4kind\xa5queue\xabincarnation\x01\xa9queue_len\xa1x")

// benchSoak floods the pipeline for a time, one payload in a hundred malformed,
// and compares resident memory early and late.
func benchSoak(s *session) error {
	b, err := newStream(s)
	if err != nil {
		return err
	}
	defer b.close()
	start, duration := time.Now(), s.flags.Duration
	var records float64
	quarters := make([][]float64, 4)
	for perPayload := 1; time.Since(start) < duration; perPayload ^= 1 ^ batchRecords {
		b.payloads.encode(kind{content: fullRecords, encoding: telemetry.EncodingArray}, perPayload)
		if _, _, err := b.flood(perPayload); err != nil {
			return err
		}
		records += streamRecords
		for range streamRecords / 100 {
			if err := b.sender.Publish(b.subjects.Telemetry(benchWorker, "bad"), malformed); err != nil {
				return err
			}
		}
		rss, err := residentBytes()
		if err != nil {
			return err
		}
		quarter := min(3, int(4*time.Since(start)/duration))
		quarters[quarter] = append(quarters[quarter], rss)
	}
	return reportSoak(quarters, records, time.Since(start), s.report)
}

func reportSoak(quarters [][]float64, records float64, took time.Duration, to *report) error {
	for _, samples := range quarters {
		if len(samples) == 0 {
			return errors.New("the soak is too short: less than a flood in a quarter of it")
		}
	}
	early, late := median(quarters[1]), median(quarters[3])
	to.row(row{Name: "soak/records", Value: records, Unit: "records", Yardstick: "none"})
	to.row(row{Name: "soak/rate", Value: records / took.Seconds(), Unit: "records/s", Yardstick: "none"})
	to.row(row{
		Name: "soak/memory", Value: late / (1 << 20), Unit: "MiB",
		Yardstick: "resident memory of the second quarter", YardstickValue: early / (1 << 20),
	})
	if growth := late/early - 1; math.Abs(growth) > soakTolerance {
		return fmt.Errorf("memory changed by %+.1f %% between the second and the last quarter, more than %.0f %%", 100*growth, 100*soakTolerance)
	}
	return nil
}

// residentBytes is the process's resident memory.
func residentBytes() (float64, error) {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("resident memory: %w", err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "VmRSS:"); ok {
			var kib float64
			if _, err := fmt.Sscanf(text, "%f kB", &kib); err != nil {
				return 0, fmt.Errorf("resident memory %q: %w", text, err)
			}
			return kib * 1024, nil
		}
	}
	return 0, errors.New("the kernel does not report resident memory")
}
