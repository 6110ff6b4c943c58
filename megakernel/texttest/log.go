package texttest

import (
	"bytes"
	"strings"
	"sync"
)

// Log is what a logger writes, from any goroutine, while a test reads it.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Take returns the lines so far and forgets them.
func (l *Log) Take() (lines []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if text := strings.TrimSpace(l.text.String()); text != "" {
		lines = strings.Split(text, "\n")
	}
	l.text.Reset()
	return lines
}
