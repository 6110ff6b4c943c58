package main

import (
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// doctor takes the flags of run and says of what they ask for that it is not there, before run finds out.
func TestDoctorTriesWhatRunWouldDo(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fine := ringmaster(t, t.Context(), "", "doctor", "--decide-only", "--listen", freeAddr(t), "--http", freeAddr(t))
	if fine.code != 0 || !strings.Contains(fine.stdout, "which can be written") || !strings.Contains(fine.stdout, "nothing is missing") {
		t.Errorf("%+v", fine)
	}
	for args, want := range map[string]string{
		"--listen " + taken.Addr().String():                            "is another ringmaster up?",
		"--listen " + freeAddr(t) + " --http " + taken.Addr().String(): "--http " + taken.Addr().String(),
		"--listen " + freeAddr(t) + " --store " + file:                 "streams cannot be stored in " + file,
		"--listen " + freeAddr(t) + " --drain=-3s":                     "--drain -3s: want",
		"--listen " + freeAddr(t) + " --opcodes /nowhere":              "/nowhere",
	} {
		got := ringmaster(t, t.Context(), "", append([]string{"doctor", "--decide-only", "--json"}, strings.Fields(args)...)...)
		said := ""
		for line := range strings.Lines(got.stdout) {
			var f finding
			if err := json.Unmarshal([]byte(line), &f); err != nil {
				t.Errorf("%q: %v", line, err)
			}
			if f.Missing && f.About == "start" {
				said += f.Says
			}
		}
		if got.code != doctorNoStart || !strings.Contains(said, want) {
			t.Errorf("%s: %+v, want %q", args, got, want)
		}
	}
}
