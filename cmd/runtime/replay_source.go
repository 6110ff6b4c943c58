package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// maxDamage is the most damaged places that are listed; the rest is only counted.
const maxDamage = 10

// logReader reads the parts of one decision log, oldest first. Damage is noted and
// skipped; everything that is whole is read.
type logReader struct {
	name  string
	parts []logPart
	queue string // only this one, empty for all

	source  io.Closer
	reader  *telemetry.DecisionReader
	damage  []string
	damages int
	unknown map[string]bool
}

// logPart is a file of a log, or a stream.
type logPart struct {
	name string
	open func() (io.ReadCloser, error)
}

// openLog names the parts of a log in files; "-" is stdin. Nothing is opened yet.
func openLog(path string, stdin io.Reader) *logReader {
	if path == "-" {
		return newLogReader("standard input", logPart{"standard input", func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }})
	}
	part := func(path string) logPart {
		return logPart{path, func() (io.ReadCloser, error) { return os.Open(path) }}
	}
	if _, err := os.Stat(rotatedName(path)); err == nil {
		return newLogReader(path, part(rotatedName(path)), part(path))
	}
	return newLogReader(path, part(path))
}

// streamLog reads what the stream holds. Each message is a log with a header of its
// own, so the messages one after the other are a log too.
func streamLog(ctx context.Context, conn *natsio.Conn) *logReader {
	name := "stream " + conn.DecisionStream()
	return newLogReader(name, logPart{name, func() (io.ReadCloser, error) {
		from, to := io.Pipe()
		go func() {
			to.CloseWithError(conn.ReadDecisions(ctx, func(log []byte) error {
				_, err := to.Write(log)
				return err
			}))
		}()
		return from, nil
	}})
}

func newLogReader(name string, parts ...logPart) *logReader {
	return &logReader{name: name, parts: parts, unknown: make(map[string]bool)}
}

// next reads the next decision of the selected queue; after the last it returns io.EOF.
func (l *logReader) next(e *telemetry.DecisionEntry) error {
	for {
		if l.reader == nil {
			if err := l.open(); err != nil {
				return err
			}
		}
		err := l.reader.Next(e)
		var damage *telemetry.DecisionError
		switch {
		case err == nil:
			if l.queue == "" || l.queue == e.Queue || l.queue == e.Worker+"."+e.Queue {
				return nil
			}
		case err == io.EOF:
			l.close()
			l.parts = l.parts[1:]
		case errors.As(err, &damage):
			if l.damages++; l.damages <= maxDamage {
				l.damage = append(l.damage, fmt.Sprintf("%s: %v", l.parts[0].name, err))
			}
		default:
			return err
		}
	}
}

func (l *logReader) open() error {
	if len(l.parts) == 0 {
		return io.EOF
	}
	source, err := l.parts[0].open()
	if err != nil {
		return err
	}
	l.source, l.reader = source, telemetry.NewDecisionReader(source)
	return nil
}

// header is that of the last decision.
func (l *logReader) header() *telemetry.DecisionHeader { return l.reader.Header() }

func (l *logReader) close() {
	if l.reader == nil {
		return
	}
	for _, name := range l.reader.Unknown() {
		l.unknown[name] = true
	}
	l.source.Close()
	l.reader = nil
}

func (l *logReader) damaged() bool { return l.damages > 0 }

// problems lists damage and gaps, and is empty if the log is whole.
func (l *logReader) problems() string {
	var b strings.Builder
	for _, d := range l.damage {
		fmt.Fprintln(&b, d)
	}
	if more := l.damages - len(l.damage); more > 0 {
		fmt.Fprintf(&b, "%s: %d more places are damaged\n", l.name, more)
	}
	if len(l.unknown) > 0 {
		fmt.Fprintf(&b, "%s: a newer version wrote fields that this one does not know: %s\n", l.name, strings.Join(sortedKeys(l.unknown), ", "))
	}
	return b.String()
}
