package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cacheDir is where the command keeps what it may lose, under XDG rules.
func cacheDir() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "ringmaster")
}

// stateDir is where the command keeps what has to outlive it, under XDG rules.
func stateDir() string {
	if base := os.Getenv("XDG_STATE_HOME"); base != "" {
		return filepath.Join(base, "ringmaster")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = os.TempDir()
	}
	return filepath.Join(home, ".local", "state", "ringmaster")
}

// splitListen reads HOST:PORT.
func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("listen address %q: want HOST:PORT", address)
	}
	port, err = strconv.Atoi(text)
	if err != nil || port < 0 || port > 65_535 {
		return "", 0, fmt.Errorf("listen address %q: the port must be 0..65535", address)
	}
	return host, port, nil
}

// workerName turns the host's name into a token that subjects allow.
func workerName() string {
	host, err := os.Hostname()
	if err != nil || host == "" {
		return "worker"
	}
	host = subjectToken(host)
	return host[:min(len(host), 64)]
}

// subjectToken replaces what subjects do not allow in a name.
func subjectToken(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-', r == '_':
			return r
		}
		return '-'
	}, s)
}
