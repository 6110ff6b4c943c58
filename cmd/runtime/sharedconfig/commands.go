package sharedconfig

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"ringmaster/cmd/runtime/config"
	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/cmd/runtime/text"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/configbucket"
)

// Check refuses a text that processes cannot take.
type Check func(text []byte) error

// PutCmd stores a file of settings.
type PutCmd struct {
	option.NATS
	Key  string `arg:"" help:"Name that processes are started with: --config-key."`
	File string `arg:"" help:"File of settings, - for standard input. An empty one sets nothing."`
}

func (c *PutCmd) Run(ctx context.Context, std terminal.Stdio, check Check, log *slog.Logger) error {
	ctx, stop := terminal.UntilSignal(ctx)
	defer stop()
	in := terminal.Interruptible(ctx, std.In)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, configbucket.MaxBytes+1))
	if err != nil {
		return err
	}
	if err := check(data); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	return with(ctx, &c.NATS, "config put", log, func(ctx context.Context, b *configbucket.Bucket) error {
		revision, err := b.Put(ctx, c.Key, data)
		if err == nil {
			fmt.Fprintf(std.Out, "stored as revision %d of %s; processes take it within %v\n", revision, c.Key, Every+time.Second)
		}
		return err
	})
}

// Every is the time between two looks of a process at its key.
const Every = 2 * time.Second

// GetCmd prints a stored file of settings.
type GetCmd struct {
	option.NATS
	Key      string `arg:"" help:"Name that processes are started with: --config-key."`
	Revision uint64 `placeholder:"N" help:"An older one, as ringmaster config history lists them (default: the newest)."`
}

func (c *GetCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return with(ctx, &c.NATS, "config get", log, func(ctx context.Context, b *configbucket.Bucket) error {
		e, err := b.Get(ctx, c.Key, c.Revision)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Key, err)
		}
		_, err = text.PlainWriter{To: std.Out}.Write(bytes.ReplaceAll(e.Text, []byte("\r\n"), []byte("\n")))
		return err
	})
}

// HistoryCmd lists what was stored under a key.
type HistoryCmd struct {
	option.NATS
	Key string `arg:"" help:"Name that processes are started with: --config-key."`
}

func (c *HistoryCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	return with(ctx, &c.NATS, "config history", log, func(ctx context.Context, b *configbucket.Bucket) error {
		all, err := b.History(ctx, c.Key)
		if err != nil {
			return fmt.Errorf("%s: %w", c.Key, err)
		}
		var rows [][]string
		var before []byte
		for _, e := range all {
			rows = append(rows, []string{strconv.FormatUint(e.Revision, 10), e.Stored.Local().Format(time.DateTime), changed(before, e.Text)})
			before = e.Text
		}
		slices.Reverse(rows)
		fmt.Fprint(text.PlainWriter{To: std.Out}, text.Table([]string{"REVISION", "STORED", "CHANGED"}, rows))
		return nil
	})
}

// changed are the settings in which a text differs from the one before it, in words.
func changed(before, after []byte) string {
	names, err := config.Changed(before, after)
	switch {
	case err != nil:
		return "not a file of settings: " + err.Error()
	case len(names) > 0:
		return strings.Join(names, ", ")
	case bytes.Equal(before, after):
		return "-"
	}
	return "comments"
}

// with does something with the bucket that the flags lead to.
func with(ctx context.Context, f *option.NATS, name string, log *slog.Logger, do func(context.Context, *configbucket.Bucket) error) error {
	return f.With(ctx, "ringmaster "+name, log, func(ctx context.Context, conn *natsio.Conn) error {
		return do(ctx, configbucket.On(conn, conn.Subjects()))
	})
}
