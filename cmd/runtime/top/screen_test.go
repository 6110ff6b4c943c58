package top

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/telemetry"
)

// fleet is a source with so many queues, of which each tenth is reported and not decided for.
type fleet struct {
	view *fleetview.View
	now  time.Time
}

func newFleet(queues int) *fleet {
	began := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
	f := &fleet{view: fleetview.New(began, fleetview.Limits{}), now: began.Add(10 * time.Second)}
	for i := range queues {
		name := fmt.Sprintf("queue-%03d", i)
		record := telemetry.Record{Header: telemetry.Header{Kind: telemetry.KindQueue, Incarnation: 1}, Queue: telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: uint32(i)}}
		f.view.Telemetry(f.now, "gpu0", name, &record)
		if i%10 == 9 {
			continue
		}
		f.view.Recommendation(f.now, "gpu0", name, &telemetry.Header{Incarnation: 7}, &telemetry.Recommendation{
			Decision: uint64(i), ValidForMs: 3000, QueueLen: uint32(i), Topology: "none", ExecutionMode: "interpreter", LaunchMode: "wave", WorkgroupSizeX: 256, Groups: 12, ClaimChunk: 64, BatchDepth: 4096,
			Reasons: []telemetry.Reason{{Rule: "mode_queue_len", Value: uint64(i), Threshold: 4096, Distance: uint64(4096 - i)}},
		})
	}
	f.view.Worker(f.now, "gpu0", &telemetry.Worker{Renderer: "NVIDIA H200"})
	return f
}

func (f *fleet) Look() fleetview.Snapshot { return f.view.Look(f.now) }
func (f *fleet) Detail(worker, queue string) (fleetview.Detail, bool) {
	return f.view.Detail(f.now, worker, queue)
}

// user is somebody at a terminal.
type user struct {
	t *testing.T
	m *model
}

func sit(t *testing.T, source fleetview.Source, width, height int) *user {
	t.Helper()
	u := &user{t, &model{screen: screen{bus: "nats://127.0.0.1:4222"}, source: source}}
	u.m.look()
	u.send(tea.WindowSizeMsg{Width: width, Height: height})
	return u
}

func (u *user) send(msg tea.Msg) (quit bool) {
	_, cmd := u.m.Update(msg)
	if cmd == nil {
		return false
	}
	_, quit = cmd().(tea.QuitMsg)
	return quit
}

// types sends keys by their names, or as text.
func (u *user) types(keys ...string) (quit bool) {
	for _, key := range keys {
		codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "end": tea.KeyEnd, "pgdown": tea.KeyPgDown, "tab": tea.KeyTab}
		if code, named := codes[key]; named {
			quit = u.send(tea.KeyPressMsg{Code: code})
			continue
		}
		r, _ := utf8.DecodeRuneInString(key)
		quit = u.send(tea.KeyPressMsg{Code: r, Text: key})
	}
	return quit
}

// sees checks that the screen fits the terminal, and what it says.
func (u *user) sees(want ...string) string {
	u.t.Helper()
	text := ansi.Strip(u.m.screen.draw())
	lines := strings.Split(text, "\n")
	if len(lines) != u.m.height {
		u.t.Errorf("%d lines on %d rows", len(lines), u.m.height)
	}
	for _, line := range lines {
		if ansi.StringWidth(line) > u.m.width {
			u.t.Errorf("%d cells: %q", ansi.StringWidth(line), line)
		}
	}
	for _, w := range want {
		if !strings.Contains(text, w) {
			u.t.Errorf("no %q on\n%s", w, text)
		}
	}
	return text
}

func (u *user) missing(words ...string) {
	u.t.Helper()
	text := ansi.Strip(u.m.screen.draw())
	for _, w := range words {
		if strings.Contains(text, w) {
			u.t.Errorf("%q on\n%s", w, text)
		}
	}
}

func Test200QueuesOnATerminalOf80By24(t *testing.T) {
	u := sit(t, newFleet(200), 80, 24)
	u.sees("20 of 200 queues: 20 undecided", "> undecided", "gpu0.queue-009", "enter page", "nobody decides")
	u.missing("gpu0.queue-000")
	u.types("s") // by name
	u.sees("by name", "gpu0.queue-000")
	u.types("end")
	u.sees("> undecided  gpu0.queue-199")
	u.types("s", "r") // by length, reversed
	u.sees("by length, reversed", "gpu0.queue-199")
	u.types("esc", "w")
	u.sees("only wrong ones")
	u.missing("interpreter:")
	u.types("esc", "/", "-", "0", "4")
	u.sees("with /-04▏", "gpu0.queue-044")
	u.missing("queue-050")
	u.send(tea.PasteMsg{Content: strings.Repeat("x", maxFilter)})
	u.sees("with /-04▏")
	u.send(tea.PasteMsg{Content: "4"})
	u.sees("with /-044▏")
	u.types("enter", "r", "s", "s", "s", "s", "s", "s") // whatever the order
	u.sees("with /-044")
	u.types("esc")
	u.sees("by refused")
	u.missing("with /")
	u.types("2")
	u.sees("NVIDIA H200", "no runtime has answered")
	u.types("3")
	u.sees("undecided", "gpu0.queue-")
	u.types("?")
	u.sees("sort by the next column", "leave")
	if !u.types("x", "q") {
		t.Error("q does not leave")
	}
}

func TestAQueuesPageSaysWhy(t *testing.T) {
	u := sit(t, newFleet(3), 80, 24)
	u.types("/", "0", "0", "2", "enter", "enter")
	u.sees("gpu0.queue-002  ok", "256×12 (width × groups), chunk 64", "interpreter: 2 slots, compiled from 4,096 on", "changes with 4,094 slots more, at 4,096 slots", "publisher", "0000000000000001", "ten minutes")
	u.types("down", "pgdown", "end")
	u.sees("changes of the plan")
	u.types("esc")
	u.sees("STATE")
}

func TestAStoppedScreenKeepsWhatItShows(t *testing.T) {
	f := newFleet(3)
	u := sit(t, f, 100, 20)
	u.types(" ")
	f.now = f.now.Add(time.Minute)
	u.send(tick(f.now))
	u.sees("stopped 03:00:10")
	u.missing("EXPIRED")
	u.types(" ")
	u.send(tick(f.now))
	u.sees("EXPIRED", "03:01:10")
}

func TestATerminalThatIsTooSmallSaysSo(t *testing.T) {
	u := sit(t, newFleet(30), 30, 6)
	u.sees("This terminal has 30 columns")
	for _, size := range [][2]int{{40, 8}, {60, 10}, {79, 17}, {132, 43}, {300, 100}} {
		u.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
		for _, key := range []string{"1", "2", "3", "?", "x", "1", "enter", "esc"} {
			u.types(key)
			u.sees()
		}
	}
}

// Whoever may publish chooses these names and texts.
func TestTextsFromTheBusCannotDrawOnTheScreen(t *testing.T) {
	const evil = "a\x1b[2J\u009bb\u202ec\n"
	f := newFleet(0)
	f.view.Recommendation(f.now, "w", "q", &telemetry.Header{}, &telemetry.Recommendation{Decision: 1, ValidForMs: 3000, Error: evil, Topology: evil, ExecutionMode: evil})
	f.view.Rejected(f.now, "", "", &telemetry.Rejected{Reason: evil, Detail: evil})
	f.view.Worker(f.now, evil, &telemetry.Worker{Renderer: evil})
	f.view.Runtime(f.now, fleetview.RuntimeSaid{ID: evil, Version: evil, Worker: evil})
	u := sit(t, f, 120, 30)
	for _, key := range []string{"1", "2", "3", "1", "enter"} {
		u.types(key)
		if text := u.sees(); strings.ContainsAny(text, "\x1b\u009b\u202e") {
			t.Errorf("%q", text)
		}
	}
	var out bytes.Buffer
	for _, p := range []Plain{{Count: 1, Width: 100}, {Count: 1, JSON: true}} {
		if err := p.Print(context.Background(), f, &out); err != nil {
			t.Fatal(err)
		}
	}
	if strings.ContainsAny(out.String(), "\x1b\u009b") {
		t.Errorf("%q", out.String())
	}
}

func TestPlainTablesAndJSON(t *testing.T) {
	var out strings.Builder
	p := Plain{Count: 2, Width: 160}
	if err := p.Print(t.Context(), newFleet(20), &out); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "20 queues, 2 wrong: 2 undecided") != 2 || strings.Contains(out.String(), "\x1b") {
		t.Errorf("%s", out.String())
	}
	out.Reset()
	p = Plain{Count: 1, JSON: true}
	if err := p.Print(t.Context(), newFleet(20), &out); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Queues []struct {
			Queue, State, Why string
			Decision          string
		}
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil || len(got.Queues) != 20 || got.Queues[9].State != "undecided" || got.Queues[3].Decision != "3" {
		t.Errorf("%v: %+v", err, got)
	}
}
