package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// top runs on a real terminal, shows what is decided, and leaves the terminal as it was.
func TestTopOnATerminal(t *testing.T) {
	url := serverOf(t)
	decider(t, url)
	records := `{"kind":"worker","max_workgroup_size_x":256}` + "\n" + `{"kind":"queue","queue_len":300}` + "\n"
	if got := ringmaster(t, t.Context(), records, "publish", "--nats", url, "--worker", "w7", "--queue", "q"); got.code != 0 {
		t.Fatalf("%+v", got)
	}
	cmd := exec.Command(os.Args[0], "top", "--nats", url)
	cmd.Env = append(os.Environ(), asCommand+"=1", "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	drawn := ""
	buf := make([]byte, 4096)
	sees := func(want string) { // a read waits until the process draws, or has ended
		t.Helper()
		for !strings.Contains(drawn, want) {
			_ = terminal.SetReadDeadline(time.Now().Add(clientPatience)) // where a terminal can have one
			n, err := terminal.Read(buf)
			drawn += string(buf[:n])
			if err != nil && !strings.Contains(drawn, want) {
				t.Fatalf("no %q in %q: %v", want, drawn, err)
			}
		}
	}
	sees("\x1b[?1049h") // another screen than the shell's
	sees("w7.q")
	if _, err := terminal.Write([]byte("\r")); err != nil {
		t.Fatal(err)
	}
	sees("changes of the plan")
	if _, err := terminal.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	sees("\x1b[?1049l") // the shell's again
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestTopForPipes(t *testing.T) {
	url := serverOf(t)
	if got := ringmaster(t, t.Context(), "", "top", "--nats", url); got.code != 1 || !strings.Contains(got.err, "--plain") {
		t.Errorf("%+v", got)
	}
	if got := ringmaster(t, t.Context(), "", "top", "--nats", url, "--plain", "--every", "10ms", "--count", "2"); got.code != 0 || strings.Count(got.stdout, "0 queues, 0 wrong") != 2 {
		t.Errorf("%+v", got)
	}
}
