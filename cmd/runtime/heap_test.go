//go:build cgo

package main

import (
	"context"
	"encoding/binary"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Everything a submitter elsewhere does: data up, work, data down.
func TestWorkOfAnOperatorsOpcodeOnDataThatCameOverNATS(t *testing.T) {
	requireGL(t)
	s := serve(t, "--opcodes", "../../docs/opcodes")
	const file, table = "../../docs/opcodes/data/text.txt", 4096
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := []string{"--nats", s.url, "--worker", "w1", "--queue", "words"}
	if up := ringmaster(t, t.Context(), "", append([]string{"heap", "upload", "0:" + file}, to...)...); up.code != 0 || !strings.Contains(up.err, "254 words are at 0") {
		t.Fatalf("upload: exit code %d, %s", up.code, up.err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn, err := natsio.Connect((&natsFlags{URL: s.url, Prefix: telemetry.DefaultPrefix}).config("test", slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	finished := make(chan telemetry.Done, 1)
	if _, err := conn.SubscribeDone("w1", "words", func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { finished <- *d }); err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: "count"}
	for at := 0; at < len(text); at += 100 {
		slot := telemetry.Slot{Opcode: 16, Priority: priorityNormal, NArgs: 3}
		slot.Args = [telemetry.MaxSlotArgs]uint32{uint32(at), uint32(min(100, len(text)-at)), table}
		work.Slots = append(work.Slots, slot)
	}
	work.Slots = append(work.Slots, telemetry.Slot{Opcode: 16, Priority: priorityNormal, NArgs: 3,
		Args: [telemetry.MaxSlotArgs]uint32{0, 1, 1 << 20}}) // the table lies outside
	header := telemetry.Header{Incarnation: telemetry.NewIncarnation(), Seq: 1}
	if _, err := conn.PublishWork(ctx, "w1", "words", header, &work, telemetry.FormMap); err != nil {
		t.Fatal(err)
	}
	select {
	case d := <-finished:
		if int(d.Executed) != len(work.Slots)-1 || d.Faulted != 1 {
			t.Errorf("done: %+v", d)
		}
	case <-ctx.Done():
		t.Fatal("no done record")
	}

	down := ringmaster(t, t.Context(), "", append([]string{"heap", "download", "4096:256:bytes"}, to...)...)
	if down.code != 0 || len(down.stdout) != 1024 {
		t.Fatalf("download: exit code %d, %d bytes, %s", down.code, len(down.stdout), down.err)
	}
	var want [256]uint32
	for _, b := range text {
		want[b]++
	}
	for b, n := range want {
		if got := binary.LittleEndian.Uint32([]byte(down.stdout)[4*b:]); got != n {
			t.Errorf("byte %d: %d times, want %d", b, got, n)
		}
	}
	for args, message := range map[string]string{
		"4294967295:1":                "outside the queue's window",
		"65530:10":                    "outside the queue's window",
		"0:1 --queue=nobody":          "has no window yet",
		"0:1 --worker=elsewhere":      "no runtime answers",
		"0:1 --queue=not.a.name":      "bad name",
		"0:1:f64":                     "want OFFSET:COUNT[:FORMAT]",
		"4294967295:4294967295:bytes": "4294967295 words, at most",
	} {
		got := ringmaster(t, t.Context(), "", append(append([]string{"heap", "download"}, to...), strings.Fields(args)...)...)
		if got.code != 1 || !strings.Contains(got.err, message) {
			t.Errorf("download %s: exit code %d, %q, want %q", args, got.code, got.err, message)
		}
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
