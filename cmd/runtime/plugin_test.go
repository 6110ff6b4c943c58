package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/choria-io/fisk"

	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/usage"
)

// natsCommand is the command line of the nats command with ringmaster registered as a plug-in, made by the library
// that it is made with. What the plug-in is called with goes to a file, a line each.
func natsCommand(t *testing.T) (run func(args ...string) []string) {
	t.Helper()
	model := ringmaster(t, t.Context(), "", usage.PluginFlag)
	if model.code != 0 || model.err != "" { // the nats command reads what is on standard error too
		t.Fatalf("%+v", model)
	}
	dir := t.TempDir()
	script, calls := filepath.Join(dir, "ringmaster"), filepath.Join(dir, "calls")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nprintf '%s\\n' \"$@\" > '"+calls+"'\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return func(args ...string) []string {
		t.Helper()
		app := fisk.New("nats", "test")
		for _, global := range []string{"server", "user", "creds", "nkey", "inbox-prefix", "context", "timeout"} {
			app.Flag(global, "of the nats command").String()
		}
		app.Terminate(func(code int) { t.Errorf("%q ends with %d", args, code) })
		if _, err := app.ExternalPluginCommand(script, []byte(model.stdout), "ringmaster", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Parse(args); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
		said, err := os.ReadFile(calls)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSuffix(string(said), "\n"), "\n")
	}
}

func TestTheNatsCommandHasRingmasterAsAPlugIn(t *testing.T) {
	nats := natsCommand(t)
	for _, c := range []struct{ args, want string }{
		{"--context lab --inbox-prefix _INBOX.me ringmaster top --plain", "top --context=lab --inbox-prefix=_INBOX.me --plain"},
		{"ringmaster explain gpu0.q --server nats://a:4222 --json", "explain --json --server=nats://a:4222 gpu0.q"},
		{"--timeout 3s ringmaster submit --queue q --slots a --slots b --no-wait --log-level debug", "submit --log-level=debug --no-wait --queue=q --slots=a --slots=b --timeout=3s"},
		{"ringmaster work run 3 1 2 --creds f", "work run --creds=f 3 1 2"},
		{"ringmaster config diff z.toml a.toml", "config diff z.toml a.toml"},
		{"ringmaster publish", "publish"},
	} {
		got := nats(strings.Fields(c.args)...)
		var parsed cli
		if _, err := newParser(&parsed, terminal.Stdio{}).Parse(got); err != nil {
			t.Errorf("%s: the command does not take %q: %v", c.args, got, err)
		}
		flags, words := split(got)
		wantFlags, wantWords := split(strings.Fields(c.want))
		if !slices.Equal(flags, wantFlags) || !slices.Equal(words, wantWords) {
			t.Errorf("%s\n got %q %q\nwant %q %q", c.args, words, flags, wantWords, wantFlags)
		}
	}
}

// split is a command line's words in their order, and its flags, which are passed on in any.
func split(args []string) (flags, words []string) {
	for _, a := range args {
		if strings.HasPrefix(a, "--") {
			flags = append(flags, a)
		} else {
			words = append(words, a)
		}
	}
	slices.Sort(flags)
	return flags, words
}
