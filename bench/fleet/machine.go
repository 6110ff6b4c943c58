package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine says what a table was measured with: the day, the processors and how busy they were, and the versions.
func (f *fleet) machine() string {
	return fmt.Sprintf("%s; %d cores, %s, load %s; %s; %s", time.Now().UTC().Format("2 January 2006"),
		runtime.NumCPU(), field("/proc/cpuinfo", "model name\t: ", "\n"), field("/proc/loadavg", "", " "),
		said(f.ringmasterPath, "--version"), said(f.serverPath, "--version"))
}

// field is what stands in a file between two texts.
func field(path, from, to string) string {
	text, _ := os.ReadFile(path)
	_, rest, _ := strings.Cut(string(text), from)
	found, _, _ := strings.Cut(rest, to)
	return found
}

// said is what a command says.
func said(command ...string) string {
	out, err := exec.Command(command[0], command[1:]...).Output()
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(out))
}
