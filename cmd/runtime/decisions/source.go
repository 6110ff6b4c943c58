package decisions

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"ringmaster/telemetry/decisionlog"
)

// maxDamage is the most damaged places that are listed; the rest is only counted.
const maxDamage = 10

// Source reads the parts of one log, oldest first. Damage is noted and
// skipped; everything that is whole is read.
type Source struct {
	// Queue selects one queue, as QUEUE or WORKER.QUEUE; empty for all.
	Queue string

	name  string
	parts []logPart

	reader  logReader
	damage  []string
	damages int
	unknown map[string]bool
}

// logPart is a file of a log, or a stream.
type logPart struct {
	name string
	open func() (logReader, error)
}

// logReader reads decisions. Next returns a *decisionlog.DamageError or a *badMessage where something is
// damaged, and goes on behind it.
type logReader interface {
	Next(e *decisionlog.Entry) error
	Header() *decisionlog.Header // of the last decision
	Unknown() []string           // keys that a newer version wrote
	io.Closer
}

// fileReader is the reader of a file.
type fileReader struct {
	*decisionlog.Reader
	io.Closer
}

func openLog(path string) (logReader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	return fileReader{decisionlog.NewReader(file), file}, nil
}

// FromFile is a log in files; "-" is stdin. Nothing is opened yet.
func FromFile(path string, stdin io.Reader) *Source {
	if path == "-" {
		return newSource("standard input", logPart{"standard input", func() (logReader, error) {
			return fileReader{decisionlog.NewReader(stdin), io.NopCloser(stdin)}, nil
		}})
	}
	part := func(path string) logPart {
		return logPart{path, func() (logReader, error) { return openLog(path) }}
	}
	if _, err := os.Stat(rotatedName(path)); err == nil {
		return newSource(path, part(rotatedName(path)), part(path))
	}
	return newSource(path, part(path))
}

func newSource(name string, parts ...logPart) *Source {
	return &Source{name: name, parts: parts, unknown: make(map[string]bool)}
}

// next reads the next decision of the selected queue; after the last it returns io.EOF.
func (l *Source) next(e *decisionlog.Entry) error {
	for {
		if l.reader == nil {
			if err := l.open(); err != nil {
				return err
			}
		}
		err := l.reader.Next(e)
		var damage *decisionlog.DamageError
		var bad *badMessage
		switch {
		case err == nil:
			if l.Queue == "" || l.Queue == e.Queue || l.Queue == e.Worker+"."+e.Queue {
				return nil
			}
		case err == io.EOF:
			l.Close()
			l.parts = l.parts[1:]
		case errors.As(err, &damage), errors.As(err, &bad):
			if l.damages++; l.damages <= maxDamage {
				l.damage = append(l.damage, fmt.Sprintf("%s: %v", l.parts[0].name, err))
			}
		default:
			return err
		}
	}
}

func (l *Source) open() error {
	if len(l.parts) == 0 {
		return io.EOF
	}
	r, err := l.parts[0].open()
	if err != nil {
		return err
	}
	l.reader = r
	return nil
}

// header is that of the last decision.
func (l *Source) header() *decisionlog.Header { return l.reader.Header() }

// Close ends reading.
func (l *Source) Close() {
	if l.reader == nil {
		return
	}
	for _, name := range l.reader.Unknown() {
		l.unknown[name] = true
	}
	l.reader.Close()
	l.reader = nil
}

func (l *Source) damaged() bool { return l.damages > 0 }

// Problems lists damage and gaps of what was read so far, and is empty if the log is whole.
func (l *Source) Problems() string {
	var b strings.Builder
	for _, d := range l.damage {
		fmt.Fprintln(&b, d)
	}
	if more := l.damages - len(l.damage); more > 0 {
		fmt.Fprintf(&b, "%s: %d more places are damaged\n", l.name, more)
	}
	if len(l.unknown) > 0 {
		fmt.Fprintf(&b, "%s: a newer version wrote fields that this one does not know: %s\n", l.name, strings.Join(slices.Sorted(maps.Keys(l.unknown)), ", "))
	}
	return b.String()
}
