package main

import (
	"context"
	"fmt"
	"log/slog"

	"ringmaster/cmd/runtime/option"
	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// heapCmd moves data to and from the window of a queue on its worker.
type heapCmd struct {
	Upload   heapUploadCmd   `cmd:"" help:"Copy files into a queue's window, before the work that reads them."`
	Download heapDownloadCmd `cmd:"" help:"Print words of a queue's window."`
}

type heapUploadCmd struct {
	option.Target `set:"timeout=30s"`
	Files         []string `arg:"" placeholder:"OFFSET:FILE[:FORMAT]" help:"File, and the word offset it goes to. FORMAT is bytes (copied as they are; the default), or u32, i32 or f32 for a text of numbers. FILE - is standard input."`
}

func (c *heapUploadCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	type piece struct {
		offset uint32
		words  []uint32
	}
	var pieces []piece
	for _, spec := range c.Files {
		offset, words, err := slots.ReadUpload(spec, std.In, maxUpload)
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		pieces = append(pieces, piece{offset, words})
	}
	return c.With(ctx, "ringmaster heap upload", log, func(ctx context.Context, conn *natsio.Conn) error {
		var first uint64
		for _, p := range pieces {
			epoch, err := client.Upload(ctx, conn, c.Worker, c.Queue, p.offset, p.words)
			if err != nil {
				return err
			}
			if first == 0 {
				first = epoch
			}
			if len(p.words) > 0 && epoch != first {
				return fmt.Errorf("epoch %d has become %d, what was uploaded before is gone: %w", first, epoch, natsio.ErrHeapChanged)
			}
			fmt.Fprintf(std.Err, "%d words are at %d of queue %s, epoch %d\n", len(p.words), p.offset, c.Queue, epoch)
		}
		return nil
	})
}

type heapDownloadCmd struct {
	option.Target `set:"timeout=30s"`
	Words         []string `arg:"" placeholder:"OFFSET:COUNT[:FORMAT]" help:"Words to print. FORMAT is u32 (the default), i32, hex, f32, or bytes (raw)."`
}

func (c *heapDownloadCmd) Run(ctx context.Context, std terminal.Stdio, log *slog.Logger) error {
	var list []slots.Download
	for _, spec := range c.Words {
		d, err := slots.ParseDownload(spec)
		if err == nil && d.Count > maxUpload {
			err = fmt.Errorf("%d words, at most %d", d.Count, maxUpload)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", spec, err)
		}
		list = append(list, d)
	}
	return c.With(ctx, "ringmaster heap download", log, func(ctx context.Context, conn *natsio.Conn) error {
		for _, d := range list {
			words := make([]uint32, d.Count)
			if err := client.Download(ctx, conn, c.Worker, c.Queue, d.Offset, words); err != nil {
				return err
			}
			if err := d.Print(std.Out, words); err != nil {
				return err
			}
		}
		return nil
	})
}

// maxUpload bounds what the heap commands hold in memory, in words.
const maxUpload = 1 << 26
