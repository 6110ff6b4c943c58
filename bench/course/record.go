package course

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"ringmaster/megakernel/policy"
)

// Record is one thing that was measured; one of its fields is set. A file of them, one a line, is what a course
// goes on from.
type Record struct {
	Capacity *Capacity `json:"capacity,omitempty"`
	Sweep    *Sweep    `json:"sweep,omitempty"`
	Cell     *Cell     `json:"cell,omitempty"`
}

// Capacity is how many slots of a load a second the loop does in a closed loop.
type Capacity struct {
	Load           string  `json:"load"`
	SlotsPerSecond float64 `json:"slots_per_second"`
	Mixes          int     `json:"mixes"` // a turn of a heavy slot's loop
	Machine        string  `json:"load_average"`
}

// Sweep is what geometries made of a load.
type Sweep struct {
	Load    string          `json:"load"`
	Best    policy.Geometry `json:"best"`
	Tried   []Tried         `json:"tried"`
	Machine string          `json:"load_average"`
}

// Tried is a geometry and its 99th percentile in milliseconds, in the first round of the sweep.
type Tried struct {
	Geometry policy.Geometry `json:"geometry"`
	P99      float64         `json:"p99_ms"`
}

// key is what a cell is of.
type key struct {
	load    string
	rate    float64
	decider string
	round   int
}

func keyOf(c *Cell) key { return key{c.Load, c.Rate, c.Decider, c.Round} }

// Read reads records, one a line.
func Read(from io.Reader) (all []Record, err error) {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var rec Record
		if err := json.Unmarshal(lines.Bytes(), &rec); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		if rec.Capacity == nil && rec.Sweep == nil && rec.Cell == nil {
			return nil, fmt.Errorf("line %d: it is of no known kind", n)
		}
		all = append(all, rec)
	}
	return all, lines.Err()
}
