package main

import (
	"fmt"
	"io"
	"log/slog"
)

// newLogger is what all of a process log by.
func newLogger(to io.Writer, level, format string) *slog.Logger {
	var least slog.Level
	if err := least.UnmarshalText([]byte(level)); err != nil {
		least = slog.LevelWarn
	}
	options := &slog.HandlerOptions{Level: least, ReplaceAttr: readable}
	if format == "json" {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

// readable has values of log records written for people, in text and in JSON: durations with their unit, what has a
// name by its name, and incarnations in the 16 hexadecimal digits in which decision logs have them. As numbers,
// programs whose numbers are floating point would round incarnations.
func readable(_ []string, a slog.Attr) slog.Attr {
	switch {
	case a.Key == "incarnation" && a.Value.Kind() == slog.KindUint64:
		return slog.String(a.Key, fmt.Sprintf("%016x", a.Value.Uint64()))
	case a.Value.Kind() == slog.KindDuration:
		return slog.String(a.Key, a.Value.Duration().String())
	case a.Value.Kind() != slog.KindAny || a.Key == slog.LevelKey:
		return a
	}
	if named, ok := a.Value.Any().(fmt.Stringer); ok {
		return slog.String(a.Key, named.String())
	}
	return a
}
