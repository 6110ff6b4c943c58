package space

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"strings"
)

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

// Failed reports whether a configuration does not build or run. The cost of
// one that fails is +Inf.
func (r *Recording) Failed(config int) bool { return math.IsInf(r.Costs[config], 1) }

// nameParts splits a file's name into kernel and device at its last '-'.
func nameParts(path string) (kernel, device string) {
	stem := filepath.Base(path)
	for {
		ext := filepath.Ext(stem)
		if ext == "" || ext == stem || !strings.Contains(" .csv .gz .txt ", " "+strings.ToLower(ext)+" ") {
			break
		}
		stem = strings.TrimSuffix(stem, ext)
	}
	if i := strings.LastIndexByte(stem, '-'); i > 0 {
		return stem[:i], stem[i+1:]
	}
	return stem, ""
}

// headerParts reads "# KERNEL on DEVICE; text".
func headerParts(comment string) (kernel, device string, ok bool) {
	text, _, _ := strings.Cut(strings.TrimLeft(comment, "# \t"), ";")
	kernel, device, ok = strings.Cut(strings.TrimRight(text, "\r\n")+" ", " on ")
	kernel, device = strings.TrimSpace(kernel), strings.TrimSpace(device)
	return kernel, device, ok && kernel != "" && !strings.ContainsAny(kernel, " \t,")
}

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
