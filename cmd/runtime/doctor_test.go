package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/cmd/runtime/option"
	"ringmaster/telemetry"
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
		"--listen 4222":                     `--listen "4222": want HOST:PORT`,
		"--listen " + taken.Addr().String(): "is another ringmaster up?",
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

// A program that reads the findings sees what is wrong with the flags of a device too.
func TestDoctorSaysThatADeviceCannotBeChosen(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	got := ringmaster(t, t.Context(), "", "doctor", "--gl", "glfw", "--device", "0", "--json", "--listen", freeAddr(t))
	if got.code != doctorNoGL || !strings.Contains(got.stdout, `"missing":true,"says":"OpenGL: the glfw backend cannot select a device"`) {
		t.Errorf("%+v", got)
	}
}

// What an account of another server has left is told before it is gone, and what is gone is missing.
func TestDoctorSaysWhatAServersAccountHasLeft(t *testing.T) {
	s := startConf(t, new(violations), fmt.Sprintf(`jetstream { store_dir: %q }
		accounts { A { jetstream { max_file: 100MB, max_streams: 3 }, users: [ { user: a, password: x } ] } }`, t.TempDir()))
	flags := option.NATS{URL: strings.Replace(s.ClientURL(), "//", "//a:x@", 1), Prefix: telemetry.DefaultPrefix}
	conn, err := flags.Dial(t.Context(), "test", quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	expect := func(fine bool, want ...string) {
		t.Helper()
		said, command := "", doctorCmd{runCmd: runCmd{NATS: flags}}
		if got := command.probe(t.Context(), flags.Config("doctor", quietLog), func(f string, args ...any) { said += fmt.Sprintf(f, args...) + "\n" }); got != fine {
			t.Errorf("fine %v: %s", got, said)
		}
		for _, w := range want {
			if !strings.Contains(said, w) {
				t.Errorf("no %q in %s", w, said)
			}
		}
	}
	expect(true, "room for streams: the account stores 0 bytes of 100 MiB")
	if err := conn.EnsureWorkStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	full := func(subject string) {
		t.Helper()
		for i := 0; ; i++ {
			_, err := conn.JetStream().Publish(t.Context(), fmt.Sprint(subject, i%8), make([]byte, 1<<20-256))
			var refused *jetstream.APIError
			switch {
			case errors.As(err, &refused):
				return
			case err != nil:
				t.Fatal(err)
			}
		}
	}
	full("ringmaster.v1.work.gpu0.q")
	expect(false, "missing: RINGMASTER_WORK is full, 31 MiB of 32 MiB: what is submitted is refused until batches end", "room for streams: the account stores")
	for _, name := range []string{"one", "two"} {
		if _, err := conn.JetStream().CreateStream(t.Context(), jetstream.StreamConfig{Name: name, Subjects: []string{name + ".>"}}); err != nil {
			t.Fatal(err)
		}
	}
	full("one.")
	expect(false, "missing: the account is full, it stores 99 MiB of 100 MiB", "missing: the account has 3 of 3 streams, and RINGMASTER_DECIDED, RINGMASTER_DONE are to be made")
}

// A server whose own limit is used up tells nobody how much is left, and doctor writes to it.
func TestDoctorWritesToAServer(t *testing.T) {
	s := startConf(t, new(violations), fmt.Sprintf(`jetstream { store_dir: %q, max_file_store: 70MB }`, t.TempDir()))
	flags := option.NATS{URL: s.ClientURL(), Prefix: telemetry.DefaultPrefix}
	conn, err := flags.Dial(t.Context(), "test", quietLog)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.TryStore(t.Context()); err != nil {
		t.Errorf("without a bucket: %v", err)
	}
	for _, stream := range []jetstream.StreamConfig{{Name: "KV_" + conn.ResultBucket(), Subjects: []string{"$KV.RINGMASTER_TUNER.>"}, MaxMsgsPerSubject: 1, AllowRollup: true}, {Name: "other", Subjects: []string{"other"}}} {
		if _, err := conn.JetStream().CreateStream(t.Context(), stream); err != nil {
			t.Fatal(err)
		}
	}
	for _, full := range []bool{false, true} {
		for err = nil; full && err == nil; {
			_, err = conn.JetStream().Publish(t.Context(), "other", make([]byte, 1<<20-256))
		}
		got := ringmaster(t, t.Context(), "", "doctor", "--decide-only", "--nats", s.ClientURL())
		if missing := strings.Contains(got.stdout, "missing: the server does not store what is written to it"); missing != full || (got.code != 0) != full {
			t.Errorf("full %v: %+v", full, got)
		}
	}
}
