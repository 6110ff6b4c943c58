package systemd

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// What is told.
const (
	Ready    = "READY=1"
	Stopping = "STOPPING=1"
	Alive    = "WATCHDOG=1"
)

// Status is a line for people, as `systemctl status` shows it.
func Status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

// Notify tells states to the service manager. Without one it does nothing.
func Notify(states ...string) error {
	path := os.Getenv("NOTIFY_SOCKET")
	if path == "" {
		return nil
	}
	to, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: path, Net: "unixgram"}) // "@..." is abstract
	if err != nil {
		return err
	}
	defer to.Close()
	_, err = to.Write([]byte(strings.Join(states, "\n")))
	return err
}

// WatchdogPeriod is how often the manager wants to be told that the process lives, half of what it waits; 0: it does
// not want to be.
func WatchdogPeriod() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 2
}
