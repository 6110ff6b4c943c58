package telemetry

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The child process of the tests below reads what it has to do from these.
const (
	childTask  = "RINGMASTER_TEST_CHILD"
	childLimit = 512 << 20 // bytes
)

// TestChildProcess is the body of the child; it does nothing in a plain run.
func TestChildProcess(t *testing.T) {
	switch os.Getenv(childTask) {
	case "decode":
		limitAddressSpace(t)
		decodeCorpus(t)
	case "waste":
		waste := make([]byte, limitAddressSpace(t))
		t.Fatalf("%d bytes fit", len(waste))
	}
}

// limitAddressSpace leaves this process childLimit bytes of address space and
// of private memory beyond what it has. A limit below that cannot be had: the
// Go runtime reserves more than a gigabyte of addresses, which cost nothing,
// before main. The race detector adds five bytes of its own for each. It
// returns what is left.
func limitAddressSpace(t *testing.T) (limit uint64) {
	limit = childLimit
	if raceDetector {
		limit *= 6
	}
	for _, r := range []struct {
		resource int
		now      string
	}{{syscall.RLIMIT_AS, "VmSize:"}, {syscall.RLIMIT_DATA, "VmData:"}} {
		bound := statusBytes(t, r.now) + limit
		must(t, syscall.Setrlimit(r.resource, &syscall.Rlimit{Cur: bound, Max: bound}))
	}
	return limit
}

// statusBytes returns a figure of the kernel's about this process.
func statusBytes(t *testing.T, key string) uint64 {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	must(t, err)
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == key {
			n, err := strconv.ParseUint(fields[1], 10, 64)
			must(t, err)
			return n << 10
		}
	}
	t.Fatalf("no %s in /proc/self/status", key)
	return 0
}

// decodeCorpus gives the whole corpus to the check and, whatever that says, to
// the decoder, twice: once as a receiver does, once without the check.
func decodeCorpus(t *testing.T) {
	var d Decoder
	r := new(Record)
	payloads, records := 0, 0
	for range 3 {
		for _, payload := range hostileCorpus(t) {
			accepted, _, _ := admit(&d, r, payload, DefaultWorkLimits)
			drain(t, &d, r, payload)
			payloads, records = payloads+1, records+accepted
		}
	}
	t.Logf("survived %d payloads, %d records", payloads, records)
}

// child runs TestChildProcess in a process of its own.
func child(t *testing.T, task string) (output string, err error) {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestChildProcess$", "-test.v")
	c.Env = append(os.Environ(), childTask+"="+task, "GOMEMLIMIT=256MiB", "GOTRACEBACK=single")
	out, err := c.CombinedOutput()
	return string(bytes.TrimSpace(out)), err
}

func TestDecodingTheCorpusSurvivesIn512MiBOfAddressSpace(t *testing.T) {
	if out, err := child(t, "decode"); err != nil || !strings.Contains(out, "survived") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Without this the test above would hold without a limit.
func TestTheLimitOfTheChildProcessIsOne(t *testing.T) {
	out, err := child(t, "waste")
	if err == nil || !strings.Contains(out, "memory") {
		t.Errorf("a child that wastes all of it: %v\n%s", err, out)
	}
}
