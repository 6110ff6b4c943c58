package main

import (
	"bufio"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// settling is how long the load goes on before it is looked at: every queue has its pace by then.
	settling = 3 * time.Second
	// userHZ is what /proc counts the time of processors in, on every architecture that Go has.
	userHZ = 100
)

// steady looks at the fleet under its load for a time, without a fault. It prints what was taken in and decided
// a second, how long records waited, from their publication to the stored recommendation that has seen them or
// later ones, and how much of a core each process took.
func (f *fleet) steady(l *load, during time.Duration) error {
	time.Sleep(settling)
	l.waits()
	before, err := f.usage(l)
	if err != nil {
		return err
	}
	begun := time.Now()
	time.Sleep(during)
	waits, seconds := l.waits(), time.Since(begun).Seconds()
	after, err := f.usage(l)
	if err != nil {
		return err
	}
	if len(waits) == 0 {
		return fmt.Errorf("no record was decided on within %v; see the logs in %s", during, keep(f.dir))
	}
	slices.Sort(waits)
	rate := func(of func(*usage) float64) float64 { return (of(&after) - of(&before)) / seconds }
	taken := rate(func(u *usage) float64 { return u.taken })
	decided := rate(func(u *usage) float64 { return u.decided })
	deciders := rate(func(u *usage) float64 { return u.deciders })
	fmt.Printf("| records a second: published / taken in | payloads dropped a second | decisions a second | wait of a record, p50 / p99 / max | cores: deciders / servers / load |\n|---|---|---|---|---|\n")
	fmt.Printf("| %.0f / %.0f | %.0f | %.0f | %.1f / %.1f / %.1f ms | %.2f / %.2f / %.2f |\n",
		rate(func(u *usage) float64 { return u.published }), taken, rate(func(u *usage) float64 { return u.dropped }), decided,
		ms(waits[len(waits)/2]), ms(waits[len(waits)*99/100]), ms(waits[len(waits)-1]),
		deciders, rate(func(u *usage) float64 { return u.servers }), rate(func(u *usage) float64 { return u.load }))
	fmt.Printf("the deciders' processor time: %.2f µs for each record, or %.1f µs for each decision with its records\n", 1e6*deciders/taken, 1e6*deciders/decided)
	return nil
}

// usage is what was done and what it took, since the processes began.
type usage struct {
	published, taken, decided, dropped float64 // records, records, decisions, payloads
	deciders, servers, load            float64 // seconds of processors
}

func (f *fleet) usage(l *load) (u usage, err error) {
	u.published = float64(l.published.Load())
	for _, d := range f.deciders {
		series, err := d.series()
		if err != nil {
			return u, err
		}
		u.taken += series["ringmaster_telemetry_records_total"]
		u.dropped += series["ringmaster_telemetry_dropped_payloads_total"]
		u.decided += series["ringmaster_decisions_total"]
	}
	if u.deciders, err = seconds(f.deciders); err != nil {
		return u, err
	}
	if u.servers, err = seconds(f.servers); err != nil {
		return u, err
	}
	var own syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	u.load = float64(own.Utime.Nano()+own.Stime.Nano()) / 1e9
	return u, err
}

// series are the metrics of a process that have no labels.
func (p *process) series() (map[string]float64, error) {
	answer, err := http.Get("http://" + p.http + "/metrics")
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p.name, err)
	}
	defer answer.Body.Close()
	series := make(map[string]float64)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			series[name] = v
		}
	}
	return series, nil
}

// seconds is the processor time that processes have taken so far.
func seconds(of []*process) (sum float64, err error) {
	for _, p := range of {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil {
			return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
		}
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest) // from the third of proc_pid_stat(5) on
		if len(fields) < 13 {
			return 0, errors.New("/proc/PID/stat is too short")
		}
		for _, field := range fields[11:13] { // utime and stime
			ticks, err := strconv.ParseFloat(field, 64)
			if err != nil {
				return 0, fmt.Errorf("processor time of %s: %w", p.name, err)
			}
			sum += ticks / userHZ
		}
	}
	return sum, nil
}
