package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"ringmaster/cmd/runtime/terminal"
)

var (
	blockPattern   = regexp.MustCompile("(?s)```[a-z]*\n(.*?)```")
	commandPattern = regexp.MustCompile(`(?:^|[|(] *|&& )(ringmaster .*)`)
	inlinePattern  = regexp.MustCompile("`ringmaster ([^`]+)`")
)

// documented are the command lines of a page's blocks, each from its first word to where the shell ends it.
func documented(text string) (commands []string) {
	for _, block := range blockPattern.FindAllStringSubmatch(text, -1) {
		lines := strings.Split(block[1], "\n")
		for i := 0; i < len(lines); i++ {
			line := strings.TrimPrefix(lines[i], "$ ")
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line = strings.TrimSuffix(line, `\`) + strings.TrimSpace(lines[i])
			}
			if found := commandPattern.FindStringSubmatch(line); found != nil {
				commands = append(commands, strings.Split(found[1], " <<")[0])
			}
		}
	}
	return commands
}

// told runs a command line in a shell in which a function takes the program's place, and returns the arguments that each
// call was given.
func told(t *testing.T, command string) (calls [][]string) {
	t.Helper()
	said, err := exec.Command("bash", "-c", "{ ringmaster() { printf '%s\\0' \"$@\" $'\\1' >&3; }; cat() { :; }\n"+command+"\nwait; } 3>&1 >/dev/null").Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	for call := range strings.SplitSeq(strings.TrimSuffix(string(said), "\x01\x00"), "\x01\x00") {
		calls = append(calls, strings.Split(strings.TrimSuffix(call, "\x00"), "\x00"))
	}
	return calls
}

func parsed(args []string) (*kong.Context, error) {
	return newParser(new(cli), terminal.Stdio{Out: io.Discard, Err: io.Discard}).Parse(args)
}

// Every command line that stands in a block of a page is one, with its flags and arguments.
func TestCommandsOfTheDocumentsAreCommandLines(t *testing.T) {
	texts, root := pages(t), rootDir(t)
	dir := t.TempDir() // for what they write
	for _, name := range []string{"docs", "megakernel"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"loop.el", "slots.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	n := 0
	for page, text := range texts {
		if strings.Contains(page, "/notes/") { // as things were on a day
			continue
		}
		for _, command := range documented(text) {
			for _, args := range told(t, command) {
				n++
				if _, err := parsed(args); err != nil {
					t.Errorf("%s: %s: %v", page, command, err)
				}
			}
		}
	}
	if n < 40 {
		t.Errorf("%d commands", n)
	}
}

// What stands in the middle of a sentence may leave out what it does not speak of, and have words to fill in: its names
// of commands and flags are there.
func TestCommandsInSentencesHaveTheirNamesAndFlags(t *testing.T) {
	n := 0
	for page, text := range pages(t) {
		for _, found := range inlinePattern.FindAllStringSubmatch(text, -1) {
			args := strings.Fields(found[1])
			if strings.Contains(page, "/notes/") || args[0] == "COMMAND" {
				continue
			}
			n++
			if _, err := parsed(args); err != nil && (strings.Contains(err.Error(), "unknown flag") || strings.Contains(err.Error(), "unexpected argument")) {
				t.Errorf("%s: ringmaster %s: %v", page, found[1], err)
			}
		}
	}
	if n < 40 {
		t.Errorf("%d commands", n)
	}
}
