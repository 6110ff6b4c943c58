package oversight

import (
	"net"
	"os"
	"strconv"
	"strings"
	"time"
)

// What systemd is told, by one datagram each to its notification socket.
const (
	isReady    = "READY=1"
	isStopping = "STOPPING=1"
	isAlive    = "WATCHDOG=1"
)

// status is a line for people, as `systemctl status` shows it.
func status(text string) string { return "STATUS=" + strings.ReplaceAll(text, "\n", " ") }

// tellManager tells states to the service manager. Without one it does nothing.
func tellManager(states ...string) error {
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

// watchdogPeriod is how often the manager wants to be told that the process lives, half of what it waits; 0: it does
// not want to be.
func watchdogPeriod() time.Duration {
	if pid := os.Getenv("WATCHDOG_PID"); pid != "" && pid != strconv.Itoa(os.Getpid()) {
		return 0
	}
	us, err := strconv.ParseInt(os.Getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || us <= 0 {
		return 0
	}
	return time.Duration(us) * time.Microsecond / 2
}
