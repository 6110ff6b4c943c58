package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
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
	_, list, _ = strings.Cut(list, "Commands:")
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
