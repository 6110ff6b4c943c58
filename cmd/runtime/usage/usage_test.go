package usage

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// sample is a command line with everything that a script treats apart.
type sample struct {
	Config string `placeholder:"FILE" help:"File of settings."`

	Serve struct {
		Mode  string `enum:"wave,lease" default:"wave" help:"How launches run. It's one of two."`
		Store string `placeholder:"DIR" help:"Where streams are."`
		Nats  string `placeholder:"URL" help:"A server."`
		Name  string `default:"thishost" help:"Of the worker, 40 × at most."`
		Wait  bool   `default:"true" negatable:"" help:"Wait."`
	} `cmd:"" group:"Serve:" help:"Serve: until it's told to stop."`
	Graph struct {
		List struct{} `cmd:"" help:"List graphs."`
		Load struct {
			File string `arg:"" help:"To load."`
		} `cmd:"" help:".hidden by troff, 'quoted'."`
	} `cmd:"" group:"Work:" help:"About graphs."`
	Secret struct{} `cmd:"" hidden:"" help:"Of no interest."`
}

func sampleModel(t *testing.T) *kong.Application {
	t.Helper()
	parser, err := kong.New(&sample{}, kong.Name("ringmaster"), kong.Description("A sample."), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model
}

// shells say what a real shell offers at the end of a line, one word a line. zsh's completion needs a terminal, so
// that its last step, the offer, is taken by functions that print it.
var shells = map[string]string{
	"bash": `source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ringmaster; printf '%s\n' "${COMPREPLY[@]}"`,
	"zsh": `compdef() { }; compset() { }; compadd() { print -l -- "$@" }; _files() { print -l -- *(N) }
_describe() { local -a all; all=(${(P)2}); print -l -- ${all%%:*} }
script=$1; shift; words=("$@"); CURRENT=$#; PREFIX=${words[CURRENT]}; source $script; _ringmaster | while read -r word; do
[[ $word == ${PREFIX##*=}* ]] && print -r -- $word; done; true`,
	"fish": `source $argv[1]; complete -C "$argv[2..-1]" | string replace -r '\t.*' ''; true`,
}

func offered(t *testing.T, shell, script string, line ...string) []string {
	t.Helper()
	args := []string{"-c", shells[shell]}
	if shell != "fish" {
		args = append(args, shell)
	}
	cmd := exec.Command(shell, append(append(args, script), line...)...)
	cmd.Dir, cmd.Env = filepath.Dir(script), append(os.Environ(), "HOME="+filepath.Dir(script))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil || said.Len() > 0 {
		t.Fatalf("%s: %v: %s", shell, err, said.String())
	}
	words := strings.Fields(string(out))
	slices.Sort(words)
	return words
}

func TestShellsCompleteWhatTheModelHas(t *testing.T) {
	for shell := range shells {
		script := scriptOf(t, shell)
		for _, c := range []struct{ line, want string }{
			{"ringmaster ", "graph serve"},
			{"ringmaster gr", "graph"},
			{"ringmaster graph ", "list load"},
			{"ringmaster --config FILE graph l", "list load"},
			{"ringmaster serve --m", "--mode"},
			{"ringmaster serve --no", "--no-wait"},
			{"ringmaster graph list --m", ""},
			{"ringmaster serve --mode ", "lease wave"},
			{"ringmaster serve --mode l", "lease"},
			{"ringmaster serve --store scr", "script"},
			{"ringmaster serve --nats scr", ""},
			{"ringmaster graph load scr", "script"},
		} {
			if got := strings.Join(offered(t, shell, script, strings.Split(c.line, " ")...), " "); got != c.want {
				t.Errorf("%s: %q is completed to %q, want %q", shell, c.line, got, c.want)
			}
		}
	}
	if got := offered(t, "bash", scriptOf(t, "bash"), "ringmaster", "serve", "--mode", "=", "l"); !slices.Equal(got, []string{"lease"}) {
		t.Errorf("bash: --mode=l is completed to %q", got)
	}
}

func scriptOf(t *testing.T, shell string) string {
	t.Helper()
	var text bytes.Buffer
	if err := Complete(&text, sampleModel(t), shell); err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return script
}

func TestTheManualIsOneThatManTakes(t *testing.T) {
	var page bytes.Buffer
	if err := Manual(&page, sampleModel(t), "thishost"); err != nil {
		t.Fatal(err)
	}
	format := exec.Command("groff", "-man", "-ww", "-Tutf8", "-P-c", "-P-bou")
	format.Stdin = &page
	var warned bytes.Buffer
	format.Stderr = &warned
	text, err := format.Output()
	if err != nil || warned.Len() > 0 {
		t.Fatalf("%v: %s", err, warned.String())
	}
	for _, want := range []string{"SERVE", "ringmaster serve [flags]", "--store=DIR", "--[no-]wait", "It's one of two.", "40 × at most",
		"ringmaster graph load <file>", ".hidden by troff, 'quoted'.", "the host's name"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in the page:\n%s", want, text)
		}
	}
	for _, never := range []string{"thishost", "secret"} {
		if strings.Contains(string(text), never) {
			t.Errorf("%q is in the page", never)
		}
	}
}
