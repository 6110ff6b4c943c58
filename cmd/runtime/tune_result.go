package main

import (
	"fmt"

	"ringmaster/megakernel/tuner/live"
)

// Strategies of tune.
const (
	strategySweep  = "sweep"
	strategySearch = "search"
	strategyLive   = "live"
)

// tuned is what tune found out.
type tuned struct {
	Workload   string    `json:"workload"`
	Slots      uint32    `json:"slots"`
	Device     string    `json:"device"`
	Strategy   string    `json:"strategy"`
	Geometries int       `json:"geometries"` // of the space
	Launches   int       `json:"launches"`
	Complete   bool      `json:"complete"` // false: the budget or the user ended it before its end
	Stored     string    `json:"stored,omitempty"`
	Key        string    `json:"key,omitempty"`
	Rows       []tuneRow `json:"rows"`
}

// tuneRow is what was measured of a geometry.
type tuneRow struct {
	Width    uint32  `json:"width"`
	Groups   uint32  `json:"groups"`
	Chunk    uint32  `json:"chunk"`
	Depth    uint32  `json:"depth"`
	Launches int     `json:"launches"`
	MeanNs   float64 `json:"mean_ns"`   // of a launch
	MedianNs float64 `json:"median_ns"` // likewise
	Spread   float64 `json:"spread"`    // standard deviation over mean
	VsBest   float64 `json:"vs_best"`   // median over the least median
	Chosen   bool    `json:"chosen,omitempty"`
}

func (r *tuneRow) geometry() live.Geometry {
	return live.Geometry{Width: r.Width, Groups: r.Groups, Chunk: r.Chunk, Depth: r.Depth}
}

// chosen is the row of the chosen geometry, nil if none was.
func (t *tuned) chosen() *tuneRow {
	for i := range t.Rows {
		if t.Rows[i].Chosen {
			return &t.Rows[i]
		}
	}
	return nil
}

func (t *tuned) pictureTitle() string {
	title := fmt.Sprintf("%s, %d slots, on %s", t.Workload, t.Slots, t.Device)
	if c := t.chosen(); c != nil {
		title += fmt.Sprintf("\nchosen: width %d, %d workgroups, chunk %d, depth %d: %.4g ns a slot", c.Width, c.Groups, c.Chunk, c.Depth, c.MedianNs/float64(t.Slots))
	}
	return title
}
