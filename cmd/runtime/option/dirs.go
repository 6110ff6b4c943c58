package option

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"ringmaster/cmd/runtime/text"
)

// CacheDir is where the command keeps what it may lose, under XDG rules.
func CacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "ringmaster")
}

// HasStateDir says whether StateDir outlives the machine's next start: without a home it is in a temporary directory.
func HasStateDir() bool {
	_, err := os.UserHomeDir()
	return err == nil || os.Getenv("XDG_STATE_HOME") != ""
}

// ConfigDir is where people write settings, under XDG rules.
func ConfigDir() string {
	base, err := os.UserConfigDir()
	if err != nil {
		base = "/etc"
	}
	return filepath.Join(base, "ringmaster")
}

// StateDir is where the command keeps what has to outlive it, under XDG rules.
func StateDir() string {
	if base := os.Getenv("XDG_STATE_HOME"); base != "" {
		return filepath.Join(base, "ringmaster")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "ringmaster")
}

// SplitListen reads HOST:PORT.
func SplitListen(address string) (host string, port int, err error) {
	host, digits, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("--listen %q: want HOST:PORT", address)
	}
	port, err = strconv.Atoi(digits)
	if err != nil || port < 0 || port > 65_535 {
		return "", 0, fmt.Errorf("--listen %q: want a port of 0 to 65535", address)
	}
	return host, port, nil
}

// HostName turns the host's name into a token that subjects allow.
func HostName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "worker"
	}
	host = text.Token(host)
	return host[:min(len(host), 64)]
}
