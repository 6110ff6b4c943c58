package oversight

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestTheServiceManagerIsToldByOneDatagram(t *testing.T) {
	for _, name := range []string{filepath.Join(t.TempDir(), "notify"), "@ringmaster-test-" + filepath.Base(t.TempDir())} {
		at, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		if err := tellManager(isReady, status("two\nlines")); err != nil {
			t.Fatal(err)
		}
		var datagram [100]byte
		n, err := at.Read(datagram[:])
		if got := string(datagram[:n]); err != nil || got != "READY=1\nSTATUS=two lines" {
			t.Errorf("%q, %v", got, err)
		}
		at.Close()
		if tellManager(isStopping) == nil {
			t.Error("nobody listens, and that is no error")
		}
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := tellManager(isReady); err != nil {
		t.Errorf("without a manager: %v", err)
	}
}

func TestWatchdogPeriod(t *testing.T) {
	for _, c := range []struct {
		usec, pid string
		want      time.Duration
	}{{"", "", 0}, {"30000000", "", 15 * time.Second}, {"30000000", "1", 0}, {"-5", "", 0}, {"soon", "", 0}} {
		t.Setenv("WATCHDOG_USEC", c.usec)
		t.Setenv("WATCHDOG_PID", c.pid)
		if got := watchdogPeriod(); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
