//go:build cgo

package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/userop"
)

const opcodesPage = "../../docs/opcodes.md"

// example is a command of the documentation and what it prints.
type example struct{ command, output string }

// examples are the commands in the console blocks of a page.
func examples(t *testing.T, page string) []example {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	for block := range strings.SplitSeq(string(text), "```console\n") {
		block, _, closed := strings.Cut(block, "```\n")
		if !closed || !strings.HasPrefix(block, "$ ") {
			continue
		}
		command := false
		for line := range strings.Lines(block) {
			start, is := strings.CutPrefix(line, "$ ")
			switch {
			case is:
				list = append(list, example{command: start})
			case command:
				list[len(list)-1].command += line
			default:
				list[len(list)-1].output += line
			}
			command = (is || command) && strings.HasSuffix(line, "\\\n")
		}
	}
	return list
}

// commandDir is a directory with a ringmaster command that is this test binary.
func commandDir(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, self)
	if err := os.WriteFile(filepath.Join(dir, "ringmaster"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestTheCommandsOfTheOpcodesPageDoWhatItSays(t *testing.T) {
	t.Parallel() // it waits for other processes
	requireGL(t)
	dir := commandDir(t)
	list := examples(t, opcodesPage)
	if len(list) < 5 {
		t.Fatalf("%d commands found", len(list))
	}
	for _, e := range list {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", e.command)
		cmd.Dir = "../.."
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err := cmd.Run()
		got := stdout.String()
		if strings.Contains(e.command, "broken") { // fails, as the page says
			got, err = stderr.String(), nil
		}
		if err != nil || got != e.output {
			t.Errorf("$ %s%v\n%s\nprinted:\n%s\nthe page has:\n%s", e.command, err, stderr.String(), got, e.output)
		}
		if strings.Contains(e.command, "--verify") && !strings.Contains(stderr.String(), "verified: 1048576 words") {
			t.Errorf("$ %s did not verify: %s", e.command, stderr.String())
		}
	}
}

func TestTheOpcodesPageListsEveryAccessor(t *testing.T) {
	text, err := os.ReadFile(opcodesPage)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range userop.List() {
		if row := fmt.Sprintf("| `%s` | %s |\n", a.Form, a.Meaning); !strings.Contains(string(text), row) {
			t.Errorf("no row %q", row)
		}
	}
	got := ringmaster(t, t.Context(), "", "opcodes", "accessors")
	if got.code != 0 || !strings.Contains(got.stdout, "void store(uint address, uint value)") {
		t.Errorf("exit code %d, %s", got.code, got.stdout)
	}
}

func TestHistogramOfAFileIsThatOfPlainGo(t *testing.T) {
	requireGL(t)
	const file = "../../README.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := ringmaster(t, t.Context(), "", "exec", "--opcodes", "../../docs/opcodes", "--upload", "0:"+file,
		"--slots", fmt.Sprintf("histogram text=0..%d/100 bytes=len table=65536", len(text)), "--download", "65536:256:bytes")
	if got.code != 0 || len(got.stdout) != 1024 {
		t.Fatalf("exit code %d, %d bytes, %s", got.code, len(got.stdout), got.err)
	}
	var counts [256]uint32
	for _, b := range text {
		counts[b]++
	}
	for b, want := range counts {
		if n := binary.LittleEndian.Uint32([]byte(got.stdout)[4*b:]); n != want {
			t.Errorf("byte %d: %d times, want %d", b, n, want)
		}
	}
}

func TestAFaultOfASlotIsReportedAndFailsTheCommand(t *testing.T) {
	requireGL(t)
	got := ringmaster(t, t.Context(), "", "exec", "--window", "64", "--slots", "store a0=1 a1=0..128/32", "--download", "0:64", "--verify")
	if got.code != 1 || !strings.Contains(got.err, "fault: slot 2 of store, arguments [1 64 0") || !strings.Contains(got.err, "address outside window") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if !strings.Contains(got.stdout, "       0: 1 0") || !strings.Contains(got.stdout, "      32: 1 0") {
		t.Errorf("the other slots did not run: %s", got.stdout)
	}
}

func TestExecShowsWhatSlotsPrintAndWhyAGeometryIsAnother(t *testing.T) {
	requireGL(t)
	got := ringmaster(t, t.Context(), "", "exec", "--geometry", "0x1x1", "--slots", "nop x3", "--slots", "print a0=7 a1=8 a2=9 a3=10")
	if got.code != 0 || !strings.Contains(got.err, "print: slot 3: [7 8 9 10]\n") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
	if !strings.Contains(got.err, "geometry: ") || !strings.Contains(got.err, " instead of 0x1x1: ") {
		t.Errorf("nothing is said of the geometry: %s", got.err)
	}
	if got = ringmaster(t, t.Context(), "", "exec", "--slots", "print x5000"); got.code != 0 || !strings.Contains(got.err, "904 prints more") {
		t.Errorf("exit code %d, %.200s", got.code, got.err)
	}
}

func TestAGeometryIsThreeNumbersAndNothingElse(t *testing.T) {
	for _, geometry := range []string{"64x64", "64x64x64x9", "64x64x6.4", "-1x64x64", "x"} {
		got := ringmaster(t, t.Context(), "", "exec", "--gl", "glfw", "--slots", "nop", "--geometry="+geometry)
		if got.code != 1 || !strings.Contains(got.err, "--geometry "+geometry+": want ") {
			t.Errorf("%s: exit code %d, %s", geometry, got.code, got.err)
		}
	}
}

// opcodeDir is a directory with one opcode whose body only a compiler can refuse.
func opcodeDir(t *testing.T, body string) string {
	t.Helper()
	dir := t.TempDir()
	text := "//! id: 30\n//! name: odd\n//! side-effects: no\n//! idempotent: yes\n\n" + body + "\n"
	if err := os.WriteFile(filepath.Join(dir, "odd.glsl"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestWhatTheDriverRefusesIsReportedWithTheFilesLine(t *testing.T) {
	requireGL(t)
	dir := opcodeDir(t, "uint a = 1u;\nuint b = 1.5;\nresult(a + b);")
	for _, args := range [][]string{
		{"opcodes", "check", dir},
		{"exec", "--opcodes", dir, "--slots", "odd"},
		{"run", "--opcodes", dir, "--listen", "127.0.0.1:0", "--store", t.TempDir()},
	} {
		got := ringmaster(t, t.Context(), "", args...)
		if got.code != 1 || !strings.Contains(got.err, "odd.glsl:7:") {
			t.Errorf("%s: exit code %d, %s", args[0], got.code, got.err)
		}
	}
}

func TestAnOpcodeWithoutReferenceCannotBeVerified(t *testing.T) {
	requireGL(t)
	dir := opcodeDir(t, "result(window_words() * 2u);")
	got := ringmaster(t, t.Context(), "", "exec", "--opcodes", dir, "--slots", "odd x3", "--results", "--window", "100")
	if got.code != 0 || got.stdout != "       0: 200 200 200\n" {
		t.Errorf("exit code %d, %q, %s", got.code, got.stdout, got.err)
	}
	got = ringmaster(t, t.Context(), "", "exec", "--opcodes", dir, "--slots", "odd x3", "--verify")
	if got.code != 1 || !strings.Contains(got.err, "opcode odd has no Go reference") {
		t.Errorf("exit code %d, %s", got.code, got.err)
	}
}

func TestBrokenFilesAreRefusedBeforeADeviceIsOpened(t *testing.T) {
	for _, args := range [][]string{
		{"exec", "--slots", "nop", "--gl", "glfw"},
		{"run", "--gl", "glfw", "--listen", "127.0.0.1:0", "--store", t.TempDir()},
		{"demo", "--gl", "glfw"},
	} {
		got := ringmaster(t, t.Context(), "", append(args, "--opcodes", "../../docs/opcodes/broken")...)
		if got.code != 1 || !strings.Contains(got.err, "search.glsl:8: while is refused") {
			t.Errorf("%s: exit code %d, %s", args[0], got.code, got.err)
		}
	}
}

func TestAWindowThatNoDeviceHasIsRefusedInWords(t *testing.T) {
	requireGL(t)
	for window, want := range map[string]string{
		"0": "want 1 to 536870912 words", "4294967295": "want 1 to 536870912 words", "500000000": "the device's storage blocks end at ",
	} {
		got := ringmaster(t, t.Context(), "", "exec", "--slots", "nop", "--window", window)
		if got.code != 1 || !strings.Contains(got.err, "--window "+window) || !strings.Contains(got.err, want) || strings.Contains(got.err, "Config") {
			t.Errorf("%s: exit code %d, %q", window, got.code, got.err)
		}
	}
}
