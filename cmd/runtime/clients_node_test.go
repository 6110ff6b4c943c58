package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"ringmaster/glcompute/gltest"
)

// clientPatience bounds every wait for another process. It is no part of what
// the tests prove.
const clientPatience = time.Minute

// nodeClients returns a copy of docs/clients/node with its packages installed.
func nodeClients(t *testing.T) string {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			gltest.Missing(t, "node", err)
		}
	}
	source, dir := filepath.Join(rootDir(t), "docs", "clients", "node"), t.TempDir()
	files, err := filepath.Glob(filepath.Join(source, "*.*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files in %s: %v", len(files), source, err)
	}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(name)), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	install := exec.CommandContext(t.Context(), "npm", "ci", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = dir
	if out, err := install.CombinedOutput(); err != nil {
		gltest.Missing(t, "node", fmt.Errorf("npm ci: %w\n%s", err, out))
	}
	return dir
}

// client is a program of docs/clients/node that runs.
type nodeClient struct {
	t           *testing.T
	command     *exec.Cmd
	out, errors <-chan string // lines; closed when the program has ended
}

// startClient starts a program; it is ended with the test.
func startClient(t *testing.T, dir, program string, args ...string) *nodeClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), clientPatience)
	c := &nodeClient{t: t, command: exec.CommandContext(ctx, "node", append([]string{program}, args...)...)}
	c.command.Dir = dir
	out, outErr := c.command.StdoutPipe()
	errors, errorsErr := c.command.StderrPipe()
	if outErr != nil || errorsErr != nil {
		t.Fatal(outErr, errorsErr)
	}
	if err := c.command.Start(); err != nil {
		t.Fatal(err)
	}
	c.out, c.errors = readLines(out), readLines(errors)
	t.Cleanup(func() {
		cancel()
		c.ended()
	})
	return c
}

func readLines(r io.Reader) <-chan string {
	lines := make(chan string, 1000)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(r); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// line returns the next line that contains text.
func (c *nodeClient) line(lines <-chan string, text string) string {
	c.t.Helper()
	for line := range lines {
		if strings.Contains(line, text) {
			return line
		}
	}
	c.t.Fatalf("%v ended without a line with %q", c.command.Args, text)
	return ""
}

// object decodes the next line of the output that contains text.
func (c *nodeClient) object(text string) map[string]any {
	c.t.Helper()
	line := c.line(c.out, text)
	var object map[string]any
	if err := json.Unmarshal([]byte(line), &object); err != nil {
		c.t.Fatalf("%q: %v", line, err)
	}
	return object
}

// ended waits for the end of the program and returns its exit code.
func (c *nodeClient) ended() int {
	for range c.out {
	}
	for range c.errors {
	}
	_ = c.command.Wait() // the exit code says how it ended
	return c.command.ProcessState.ExitCode()
}

// terminate ends the program as a supervisor does, which is no failure.
func (c *nodeClient) terminate() {
	c.t.Helper()
	if err := c.command.Process.Signal(syscall.SIGTERM); err != nil {
		c.t.Fatal(err)
	}
	if code := c.ended(); code != 0 {
		c.t.Errorf("%v: exit code %d after SIGTERM", c.command.Args, code)
	}
}

// overhear subscribes to a subject and returns a function that waits for the
// next payload, as bytes: the packages of this module hand out decoded records.
func overhear(t *testing.T, url, subject string) (next func() []byte) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(url, "nats://"), clientPatience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(clientPatience)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "CONNECT {\"verbose\":false}\r\nSUB %s 1\r\nPING\r\n", subject) // a failure shows at the first read
	reader := bufio.NewReader(conn)
	until := func(prefix string) string {
		t.Helper()
		for {
			line, err := reader.ReadString('\n')
			if err != nil {
				t.Fatalf("waiting for %s on %s: %v", prefix, subject, err)
			}
			if strings.HasPrefix(line, prefix) {
				return line
			}
		}
	}
	until("PONG")
	return func() []byte {
		t.Helper()
		words := strings.Fields(until("MSG ")) // MSG <subject> <sid> [reply] <bytes>
		n, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		payload := make([]byte, n)
		if _, err := io.ReadFull(reader, payload); err != nil {
			t.Fatal(err)
		}
		return payload
	}
}
