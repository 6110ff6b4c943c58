package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"ringmaster/cmd/runtime/text"
)

// hostReserve is the most host memory that a graph has to leave to everybody else. One that is
// smaller leaves as much as it takes.
const hostReserve = 256 << 20

// HostMemory is how many bytes of memory this process can still take: what the system says is
// available, or less if its control group has a limit. It is unknown where neither can be read.
func HostMemory() (bytes uint64, known bool) {
	read := func(name string) []byte {
		data, err := os.ReadFile(name)
		if err != nil {
			return nil
		}
		return data
	}
	return freeMemory(read("/proc/meminfo"), read("/sys/fs/cgroup/memory.max"), read("/sys/fs/cgroup/memory.current"))
}

// freeMemory reads the files of that name, as Linux writes them.
func freeMemory(meminfo, limit, current []byte) (free uint64, known bool) {
	if _, after, found := bytes.Cut(meminfo, []byte("\nMemAvailable:")); found {
		line, _, _ := bytes.Cut(after, []byte("\n"))
		kib, unit, _ := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if n, err := strconv.ParseUint(string(kib), 10, 54); err == nil && string(unit) == "kB" {
			free, known = n<<10, true
		}
	}
	most, err := strconv.ParseUint(string(bytes.TrimSpace(limit)), 10, 64) // "max" is no limit
	used, bad := strconv.ParseUint(string(bytes.TrimSpace(current)), 10, 64)
	if err == nil && bad == nil {
		if left := most - min(used, most); !known || left < free {
			free, known = left, true
		}
	}
	return free, known
}

// FitsHost returns an error if the host has too little memory for a graph, of which it is about
// to take a further copy unless the device has memory of its own.
func FitsHost(graph uint64, apart bool, free uint64, known bool) error {
	needed := min(graph, hostReserve)
	if !apart {
		needed += graph
	}
	if !known || needed <= free {
		return nil
	}
	return fmt.Errorf("the graph takes %s bytes: %s bytes of the host's memory have to be free, and %s are", text.Grouped(graph), text.Grouped(needed), text.Grouped(free))
}
