package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/usage"
)

const operatingPage = "../../docs/operating.md"

// pages are the documents that people read, by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{"../../README.md": ""}
	err := filepath.WalkDir("../../docs", func(path string, d os.DirEntry, err error) error {
		if d != nil && d.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			texts[path] = ""
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for path := range texts {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[path] = string(text)
	}
	return texts
}

var (
	linkPattern    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchorDropped  = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors are the headings of a page in the form in which links name them.
func anchors(text string) map[string]bool {
	found := make(map[string]bool)
	for _, heading := range headingPattern.FindAllStringSubmatch(text, -1) {
		name := anchorDropped.ReplaceAllString(strings.ToLower(heading[1]), "")
		found[strings.ReplaceAll(name, " ", "-")] = true
	}
	return found
}

func TestLinksOfTheDocumentsLeadSomewhere(t *testing.T) {
	texts := pages(t)
	links := 0
	for path, text := range texts {
		for _, link := range linkPattern.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(link[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			links++
			file := path
			if target != "" {
				file = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s leads nowhere", path, link[1])
			} else if anchor != "" && !anchors(texts[file])[anchor] {
				t.Errorf("%s: %s has no such heading", path, link[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("%d links found", links)
	}
}

func TestTheOperatingPageNamesEveryFlagOfRun(t *testing.T) {
	text, err := os.ReadFile(operatingPage)
	if err != nil {
		t.Fatal(err)
	}
	help := ringmaster(t, t.Context(), "", "run", "--help").stdout
	words := regexp.MustCompile(`--[a-z][a-z-]+|\$[A-Z][A-Z_]+`).FindAllString(help, -1)
	if len(words) < 50 {
		t.Fatalf("%d flags and variables in the help", len(words))
	}
	for _, word := range words {
		if word = strings.TrimPrefix(word, "$"); word != "--help" && !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("%s names no %s", operatingPage, word)
		}
	}
	for _, named := range regexp.MustCompile("`(--[a-z-]+|[A-Z]+_[A-Z_]+)`").FindAllStringSubmatch(string(text), -1) {
		if !strings.Contains(help, named[1]) {
			t.Errorf("%s names %s, which the help of run does not", operatingPage, named[1])
		}
	}
}

func TestTheReadmeNamesEveryCommand(t *testing.T) {
	text := pages(t)["../../README.md"]
	list := ringmaster(t, t.Context(), "", "--help").stdout
	_, list, _ = strings.Cut(list, "Run and decide:")
	commands := regexp.MustCompile(`(?m)^  ([a-z]+)(?: ([a-z]+))?  `).FindAllStringSubmatch(list, -1)
	if len(commands) < 15 {
		t.Fatalf("%d commands in the help", len(commands))
	}
	for _, c := range commands {
		for _, word := range c[1:] {
			if word != "" && !regexp.MustCompile("`([a-z]+ )?"+word+"[` ]").MatchString(text) {
				t.Errorf("no command %s in the README", strings.TrimSpace(c[0]))
			}
		}
	}
}

func TestHelpListsCommandsInGroups(t *testing.T) {
	help := ringmaster(t, t.Context(), "", "--help").stdout
	after := help
	for _, want := range []string{"Run and decide:", "\n  run ", "Look:", "\n  top ", "Work:", "\n  submit ",
		"On this machine:", "\n  tune ", "Check and configure:", "\n  config check "} {
		_, rest, found := strings.Cut(after, want)
		if !found {
			t.Fatalf("no %q after what is before it in %s", want, help)
		}
		after = rest
	}
	if strings.Contains(help, "\nCommands:") {
		t.Errorf("a command is in no group: %s", help)
	}
	help = ringmaster(t, t.Context(), "", "run", "--help").stdout
	for _, want := range []string{"\nNATS:\n", "\nQueues and work:\n", "\nDevice and kernels:\n", "\nDecisions:\n", "\nMetrics and traces:\n"} {
		if !strings.Contains(help, want) {
			t.Errorf("no group %q in the help of run", want)
		}
	}
}

// What a shell makes of an example, the parser takes, as the command whose help has it.
func TestExamplesOfTheHelpAreCommandLines(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "roads.el"), []byte("0 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	var c cli
	commands := make(map[string]bool)
	for _, leaf := range newParser(&c, terminal.Stdio{Out: io.Discard, Err: io.Discard}).Model.Leaves(false) {
		commands[leaf.Path()] = true
		if !leaf.Hidden && len(usage.Examples[leaf.Path()]) == 0 {
			t.Errorf("%s has no example", leaf.Path())
		}
	}
	for path, examples := range usage.Examples {
		if !commands[path] {
			t.Errorf("examples of %s, which is no command", path)
		}
		for _, example := range examples {
			// The shell's own words: a function takes the program's place and says what it was given.
			said, err := exec.Command("bash", "-c", "{ ringmaster() { printf '%s\\0' \"$@\" >&3; }\n"+example+"\n} 3>&1").Output()
			if err != nil {
				t.Fatalf("%s: %v", example, err)
			}
			var c cli
			args := strings.Split(strings.TrimSuffix(string(said), "\x00"), "\x00")
			parsed, err := newParser(&c, terminal.Stdio{Out: io.Discard, Err: io.Discard}).Parse(args)
			if err != nil {
				t.Errorf("%s: %v", example, err)
			} else if parsed.Selected().Path() != path {
				t.Errorf("%s: is %s, and stands in the help of %s", example, parsed.Selected().Path(), path)
			}
		}
		if words := strings.Fields(path); !strings.HasSuffix(ringmaster(t, t.Context(), "", append(words, "--help")...).stdout,
			"\nExamples:\n  "+strings.Join(examples, "\n  ")+"\n") {
			t.Errorf("the help of %s does not end with its examples", path)
		}
	}
}
