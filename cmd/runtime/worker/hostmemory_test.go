package worker

import "testing"

func TestFreeMemoryIsWhatTheSystemAndTheControlGroupLeave(t *testing.T) {
	const info = "MemTotal:       24689880 kB\nMemFree:          123456 kB\nMemAvailable:   2097152 kB\nBuffers: 1 kB\n"
	for name, c := range map[string]struct {
		meminfo, limit, current string
		free                    uint64
		known                   bool
	}{
		"no group":              {info, "", "", 2 << 30, true},
		"a group without limit": {info, "max\n", "1000\n", 2 << 30, true},
		"a group with a limit":  {info, "1073741824\n", "1073741000\n", 824, true},
		"a group over it":       {info, "1000\n", "2000\n", 0, true},
		"a wide group":          {info, "107374182400\n", "0\n", 2 << 30, true},
		"a group alone":         {"", "1000\n", "200\n", 800, true},
		"nothing":               {"", "", "", 0, false},
		"an older system":       {"MemTotal: 1 kB\nMemFree: 1 kB\n", "", "", 0, false},
		"nonsense":              {"x\nMemAvailable: many kB\n", "x", "y", 0, false},
		"another unit":          {"x\nMemAvailable: 5 MB\n", "", "", 0, false},
	} {
		if free, known := freeMemory([]byte(c.meminfo), []byte(c.limit), []byte(c.current)); free != c.free || known != c.known {
			t.Errorf("%s: %d, %v", name, free, known)
		}
	}
}

func TestAGraphLeavesTheHostSomeMemory(t *testing.T) {
	for _, c := range []struct {
		graph, free        uint64
		apart, known, fits bool
	}{
		{1000, 2000, false, true, true},
		{1000, 1999, false, true, false},
		{1000, 1000, true, true, true},
		{1000, 999, true, true, false},
		{1 << 30, 1<<30 + hostReserve, false, true, true},
		{1 << 30, 1<<30 + hostReserve - 1, false, true, false},
		{1 << 30, hostReserve, true, true, true},
		{1 << 62, 0, false, false, true},
	} {
		if err := FitsHost(c.graph, c.apart, c.free, c.known); (err == nil) != c.fits {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
