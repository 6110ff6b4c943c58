package space

import (
	"math"
	"path/filepath"
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
