// Package terminal is a command's connection to the person or program that called it: its streams, a block of text
// that is redrawn in place, signals, exit codes, and files that are replaced whole.
package terminal

import (
	"fmt"
	"io"
)

// Stdio is the streams of a command.
type Stdio struct {
	In  io.Reader
	Out io.Writer
	Err io.Writer
}

// ExitCode is an error that carries an exit code; its message, if any, was already printed.
type ExitCode int

func (e ExitCode) Error() string { return fmt.Sprintf("exit code %d", int(e)) }
