package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/poison"
)

func TestWorkListsShowsRunsAndPurges(t *testing.T) {
	url := serverOf(t)
	conn := bustest.Dial(t, url)
	if err := conn.EnsureWorkStream(t.Context()); err != nil {
		t.Fatal(err)
	}
	work := func(args ...string) outcome {
		return ringmaster(t, t.Context(), "", append(append([]string{"work"}, args...), "--nats", url)...)
	}
	if o := work("list"); o.code != 0 || o.stdout != "no batch is set aside\n" {
		t.Errorf("nothing: %+v", o)
	}
	if o := work("show", "1"); o.code != 1 || !strings.Contains(o.err, "no such batch is set aside: nothing was ever set aside here") {
		t.Errorf("show nothing: %+v", o)
	}
	keeper := poison.NewKeeper(conn)
	for i, batch := range []string{"good", "bad\x1b[2J"} {
		w := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: "good", Slots: []telemetry.Slot{{Opcode: 3}, {Opcode: 3}, {Opcode: 4}}}
		data := telemetry.Append(nil, telemetry.EncodingArray, telemetry.Header{Incarnation: 7, Seq: 1}, &w)
		kept := make(chan error, 1)
		keeper.SetAside(&natsio.GivenUp{Worker: "w1", Queue: "q", Batch: batch, Slots: 3, Deliveries: 20, Sequence: uint64(i + 1), Data: data}, func(err error) { kept <- err })
		if err := <-kept; err != nil {
			t.Fatal(err)
		}
	}
	o := work("list")
	if lines := strings.Split(o.stdout, "\n"); o.code != 0 || len(lines) != 4 || strings.Contains(o.stdout, "\x1b") ||
		strings.Join(strings.Fields(lines[1])[:4], " ") != "1 w1.q good 3" {
		t.Errorf("list: %+v", o)
	}
	if o = work("list", "--json", "--queue", "q"); o.code != 0 || strings.Count(o.stdout, "\n") != 2 || strings.Contains(o.stdout, "\x1b") {
		t.Errorf("list as JSON: %+v", o)
	}
	var shown struct {
		Deliveries uint64       `json:"deliveries"`
		Slots      []shownSlots `json:"of_opcodes"`
	}
	if o = work("show", "1"); json.Unmarshal([]byte(o.stdout), &shown) != nil || shown.Deliveries != 20 || len(shown.Slots) != 2 || shown.Slots[0].Count != 2 {
		t.Errorf("show: %+v", o)
	}
	if o = work("run", "1"); o.code != 0 || o.stdout != "1: batch good is submitted to w1.q again\n" {
		t.Errorf("run: %+v", o)
	}
	stream, err := conn.JetStream().Stream(t.Context(), conn.WorkStream())
	if err != nil || stream.CachedInfo().State.Msgs != 1 {
		t.Errorf("the stream of batches: %+v, %v", stream.CachedInfo().State, err)
	}
	if o = work("run", "1"); o.code != 1 || !strings.Contains(o.err, "no such batch is set aside: number 1") {
		t.Errorf("run again: %+v", o)
	}
	for _, wrong := range [][]string{{"purge"}, {"purge", "2", "--all"}, {"purge", "2", "--queue", "q"}, {"list", "--queue", "a.b"}} {
		if o = work(wrong...); o.code == 0 {
			t.Errorf("%v: %+v", wrong, o)
		}
	}
	if o = work("purge", "--worker", "w1", "--queue", "q"); o.code != 0 {
		t.Errorf("purge: %+v", o)
	}
	if o = work("list"); o.stdout != "no batch is set aside\n" {
		t.Errorf("after the purge: %+v", o)
	}
}
