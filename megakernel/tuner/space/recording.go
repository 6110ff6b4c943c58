package space

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
)

// ErrRecording says that a recording cannot be used.
var ErrRecording = errors.New("unusable recording")

// Recording is a space in which every configuration was measured.
type Recording struct {
	*Space
	Kernel string // what was tuned; recordings of one kernel can teach each other
	Device string // where; may be empty
	Costs  []float64
	best   float64
}

// NewRecording returns a recording of costs by configuration, in any unit; +Inf
// stands for one that fails. At least one must not fail.
func NewRecording(s *Space, kernel, device string, costs []float64) (*Recording, error) {
	if len(costs) != s.Len() {
		return nil, fmt.Errorf("%w: %d costs of %d configurations", ErrRecording, len(costs), s.Len())
	}
	best := math.Inf(1)
	for c, cost := range costs {
		if !(cost > 0) {
			return nil, fmt.Errorf("%w: configuration %d costs %v; costs are above zero", ErrRecording, c, cost)
		}
		best = min(best, cost)
	}
	if math.IsInf(best, 1) {
		return nil, fmt.Errorf("%w: every configuration fails", ErrRecording)
	}
	return &Recording{Space: s, Kernel: kernel, Device: device, Costs: costs, best: best}, nil
}

// Best is the lowest cost.
func (r *Recording) Best() float64 { return r.best }

// makers recognise who made a device by its name; the first that matches counts.
var makers = []struct {
	maker   string
	pattern *regexp.Regexp
}{
	{"amd", regexp.MustCompile(`\bamd\b|radeon|instinct|\bvega|\bmi[0-9]{2,3}[aex]?\b|\bw[0-9]{4}x?\b|\brx ?[0-9]{3,4}|\bgfx[0-9]`)},
	{"intel", regexp.MustCompile(`\bintel\b|\barc\b|\biris\b|\bmax 1[15]`)},
	{"mesa", regexp.MustCompile(`llvmpipe|softpipe|lavapipe`)},
	{"nvidia", regexp.MustCompile(`nvidia|geforce|quadro|tesla|titan|\b[rg]tx|\b[abhlptv][0-9]{1,4}[sx]?\b|\bg[bh]?[0-9]{3}\b|\bjetson`)},
}

// Maker tells from its name who made a device, "" if the name does not say.
// Devices of one maker are more alike than others.
func Maker(device string) string {
	device = strings.NewReplacer("_", " ", "-", " ").Replace(strings.ToLower(device))
	for _, m := range makers {
		if m.pattern.MatchString(device) {
			return m.maker
		}
	}
	return ""
}
