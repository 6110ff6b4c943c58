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

// UsageError is an error about how a command was called; its exit code is 2.
type UsageError struct{ error }

func (e UsageError) Unwrap() error { return e.error }

// Misused is a UsageError that says what is wrong.
func Misused(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }
