package frontier

import (
	"slices"
	"strconv"
	"strings"
)

// Examples are names of kernels that Source knows: ALGORITHM-KIND-WIDTH.
func Examples() []string {
	return []string{"bfs-begin-256", "bfs-sow-256", "bfs-level-256", "bfs-persistent-256", "bfs-count-256", "sssp-level-256", "flow-level-256"}
}

// Source is a kernel as a driver with subgroups gets it, by its name. Kernels of joins have none, because a name does not
// say what their body is.
func Source(name string) (source string, ok bool) {
	parts := strings.Split(name, "-")
	if len(parts) != 3 {
		return "", false
	}
	semiring := slices.Index(semiringNames[:], parts[0])
	width, err := strconv.ParseUint(parts[2], 10, 32)
	if semiring < 0 || Semiring(semiring) == User || err != nil || uint64(WidthWithin(uint32(width))) != width {
		return "", false
	}
	for k := range kind(kinds) {
		if k.String() == parts[1] {
			key := kernel{kind: k, semiring: Semiring(semiring), weighted: true, subgroups: true, width: uint32(width)}
			return key.plain().Source(), true
		}
	}
	return "", false
}
