package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"ringmaster/megakernel/tuner/trial"
)

// row is one measured figure. Ratio is value over yardstick value.
type row struct {
	Name           string  `json:"name"`
	Value          float64 `json:"value"`
	Unit           string  `json:"unit"`
	Yardstick      string  `json:"yardstick"`
	YardstickValue float64 `json:"yardstick_value"`
	Ratio          float64 `json:"ratio"`
}

// machine is the first line of a report: what the figures were measured on.
type machine struct {
	CPU        string `json:"cpu"`
	Cores      int    `json:"cores"`
	GLRenderer string `json:"gl_renderer"`
	GLVersion  string `json:"gl_version"`
	Go         string `json:"go"`
	Version    string `json:"ringmaster"`
}

// report prints rows as they are measured.
type report struct {
	out  io.Writer
	json bool
}

func (r *report) begin(m machine) {
	if r.json {
		json.NewEncoder(r.out).Encode(m)
		return
	}
	fmt.Fprintf(r.out, "%s, %d cores; GL: %s, %s; %s\n", m.CPU, m.Cores, m.GLRenderer, m.GLVersion, m.Go)
	r.line("name", "value", "unit", "yardstick", "ratio", "yardstick is")
}

func (r *report) row(row row) {
	if row.YardstickValue != 0 {
		row.Ratio = row.Value / row.YardstickValue
	}
	if r.json {
		json.NewEncoder(r.out).Encode(row)
		return
	}
	yardstick, ratio := "-", "-"
	if row.YardstickValue != 0 {
		yardstick, ratio = fourDigits(row.YardstickValue), fmt.Sprintf("%.3f", row.Ratio)
	}
	r.line(row.Name, fourDigits(row.Value), row.Unit, yardstick, ratio, row.Yardstick)
}

// line is not a table's, because each row is printed when it is measured.
func (r *report) line(name, value, unit, yardstick, ratio, is string) {
	fmt.Fprintf(r.out, "%-34s %9s %-10s %9s %6s  %s\n", name, value, unit, yardstick, ratio, is)
}

// fourDigits is a number with four digits, in thousands (k), millions (M) or more (G) from
// 10,000 on.
func fourDigits(v float64) string {
	switch {
	case v >= 1e9:
		return fmt.Sprintf("%.4g G", v/1e9)
	case v >= 1e6:
		return fmt.Sprintf("%.4g M", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.4g k", v/1e3)
	}
	return fmt.Sprintf("%.4g", v)
}

// cpuName is the processor's name for itself.
func cpuName() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "model name"); ok {
			return strings.TrimLeft(name, "\t :")
		}
	}
	return runtime.GOARCH
}

// median is the middle one of some values. It leaves them in their order.
func median(values []float64) float64 { return trial.Median(values) }
