//go:build cgo

package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
)

// Everything a submitter elsewhere does: data up, work, data down.
func TestADownloadFromNobodySaysSo(t *testing.T) {
	t.Parallel() // it waits for an answer
	s := serve(t, "--decide-only")
	got := ringmaster(t, t.Context(), "", "heap", "download", "--nats", s.url, "--worker", "elsewhere", "--queue", "words", "0:1")
	if got.code != 1 || !strings.Contains(got.err, "no runtime answers") {
		t.Errorf("exit code %d, %q", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestWorkOfAnOperatorsOpcodeOnDataThatCameOverNATS(t *testing.T) {
	requireGL(t)
	s := serve(t, "--opcodes", "../../docs/opcodes")
	const file, table = "../../docs/opcodes/data/text.txt", 4096
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	to := []string{"--nats", s.url, "--worker", "w1", "--queue", "words"}
	up := ringmaster(t, t.Context(), "", append([]string{"heap", "upload", "0:" + file}, to...)...)
	var epoch uint64
	if _, said, ok := strings.Cut(up.err, "254 words are at 0 of queue words, epoch "); up.code != 0 || !ok {
		t.Fatalf("upload: exit code %d, %s", up.code, up.err)
	} else if _, err := fmt.Sscan(said, &epoch); err != nil || epoch == 0 {
		t.Fatalf("upload: epoch %q, %v", said, err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	conn := bustest.Dial(t, s.url)
	finished := make(chan telemetry.Done, 1)
	if _, err := conn.SubscribeDone("w1", "words", func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { finished <- *d }); err != nil {
		t.Fatal(err)
	}
	launches := make(chan telemetry.Launch, 100)
	if _, err := conn.SubscribeLaunches("w1", "words", func(_, _ string, _ *telemetry.Header, l *telemetry.Launch) { launches <- *l }); err != nil {
		t.Fatal(err)
	}
	announced := overhear(t, s.url, "ringmaster.v1.worker.w1")
	work := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots | telemetry.HasEpoch, Batch: "count", Epoch: epoch}
	for at := 0; at < len(text); at += 100 {
		slot := telemetry.Slot{Opcode: 16, Priority: ring.PriorityNormal}
		slot.Args = [telemetry.MaxSlotArgs]uint32{uint32(at), uint32(min(100, len(text)-at)), table}
		work.Slots = append(work.Slots, slot)
	}
	work.Slots = append(work.Slots, telemetry.Slot{Opcode: 16, Priority: ring.PriorityNormal,
		Args: [telemetry.MaxSlotArgs]uint32{0, 1, 1 << 20}}) // the table lies outside
	if err := conn.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	header := telemetry.Header{Incarnation: telemetry.NewIncarnation()}
	done := func() telemetry.Done {
		t.Helper()
		header.Seq++
		if _, err := client.PublishWork(ctx, conn, "w1", "words", header, &work); err != nil {
			t.Fatal(err)
		}
		select {
		case d := <-finished:
			return d
		case <-ctx.Done():
			t.Fatal("no done record")
		}
		panic("not reached")
	}
	if d := done(); int(d.Executed) != len(work.Slots)-1 || d.Faulted != 1 || d.Dropped != 0 || d.Error != "" {
		t.Errorf("done: %+v", d)
	}
	select {
	case l := <-launches:
		if want := telemetry.HasMode | telemetry.HasKernel; !l.Has.Has(want) || l.Mode != telemetry.ModeWave || !strings.HasPrefix(l.Kernel, "interpreter-") {
			t.Errorf("launch: mode %v, kernel %q", l.Mode, l.Kernel)
		}
	case <-ctx.Done():
		t.Fatal("no launch report")
	}
	work.Batch, work.Epoch = "stale", epoch-1
	if d := done(); d.Batch != "stale" || d.Executed+d.Faulted != 0 || int(d.Dropped) != len(work.Slots) || d.Error != "heap lost" {
		t.Errorf("done: %+v", d)
	}
	var decoder telemetry.Decoder
	var worker telemetry.Record
	decoder.Reset(announced())
	if err := decoder.Next(&worker); err != nil {
		t.Fatal(err)
	}
	if want := []telemetry.Opcode{{ID: 16, Name: "histogram"}, {ID: 17, Name: "dfa"}, {ID: 18, Name: "saxpy"}}; !slices.Equal(worker.Worker.Opcodes, want) {
		t.Errorf("announced opcodes %v, want %v", worker.Worker.Opcodes, want)
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
		"0:1 --queue=nobody":          "has no data yet",
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
