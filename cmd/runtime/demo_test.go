//go:build cgo

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ringmaster/cmd/runtime/demo"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/glcompute/gltest"
)

func demoSummary(t *testing.T, args ...string) (demo.Summary, outcome) {
	t.Helper()
	requireGL(t)
	got := ringmaster(t, t.Context(), "", append([]string{"demo", "--json", "--compare=0"}, args...)...)
	var s demo.Summary
	if err := json.Unmarshal([]byte(got.stdout), &s); err != nil {
		t.Fatalf("exit code %d, summary %q, messages %q: %v", got.code, got.stdout, got.err, err)
	}
	return s, got
}

func TestDemoClosesTheLoopAndReplays(t *testing.T) {
	t.Parallel() // it waits for the load most of its time
	path := filepath.Join(t.TempDir(), "demo.log")
	s, got := demoSummary(t, "--limit", "5m", "--speed", "100", "--decision-log", path)
	if got.code != 0 {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if s.SlotsSubmitted == 0 || s.SlotsSubmitted != s.SlotsExecuted || s.SlotsFaulted != 0 {
		t.Errorf("%d slots submitted, %d executed, %d faulted", s.SlotsSubmitted, s.SlotsExecuted, s.SlotsFaulted)
	}
	if s.TokensCounted != s.TokensGenerated {
		t.Errorf("%d tokens generated, %d counted on the device", s.TokensGenerated, s.TokensCounted)
	}
	if len(s.Topologies) < 3 || s.TopologySwitches == 0 || s.SwitchesHeld == 0 {
		t.Errorf("topologies %v, %d switches taken, %d held", s.Topologies, s.TopologySwitches, s.SwitchesHeld)
	}
	if s.LaunchesExact == 0 || s.LaunchesAdjusted[""] != 0 {
		t.Errorf("%d launches as recommended, adjusted: %v", s.LaunchesExact, s.LaunchesAdjusted)
	}
	if s.Records == 0 || s.Decisions == 0 || s.Recommendations == 0 || s.Launches == 0 || len(s.Geometries) == 0 {
		t.Errorf("something never happened: %+v", s)
	}
	if s.Publish.P50 <= 0 || s.Publish.P99 < s.Publish.P50 || s.Submit.P50 <= 0 || s.Submit.P99 < s.Submit.P50 {
		t.Errorf("latencies %+v and %+v", s.Publish, s.Submit)
	}
	hasTheDocumentedKeys(t, got)
	replayed := ringmaster(t, t.Context(), "", "replay", path)
	if replayed.code != 0 || !strings.Contains(replayed.stdout, "of 3 queues") || !strings.Contains(replayed.stdout, "every decision replays byte for byte") {
		t.Errorf("exit code %d: %s%s", replayed.code, replayed.stdout, replayed.err)
	}
}

func hasTheDocumentedKeys(t *testing.T, got outcome) {
	t.Helper()
	var keys map[string]json.RawMessage
	if err := json.Unmarshal([]byte(got.stdout), &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"records", "decisions", "recommendations", "launches", "slots_submitted", "slots_executed", "slots_faulted",
		"topologies", "topology_switches", "switches_held", "publish_to_recommendation_us", "submit_to_done_us",
	} {
		if _, ok := keys[key]; !ok {
			t.Errorf("no key %q", key)
		}
	}
}

func TestDemoEndsWithWhatTheDecisionWasWorth(t *testing.T) {
	t.Parallel() // its turns last a second each
	requireGL(t)
	text := ringmaster(t, t.Context(), "", "demo", "--limit", "4m", "--speed", "200", "--compare", "1")
	_, after, found := strings.Cut(text.stdout, "\ndecided / always 256×")
	if text.code != 0 || !found || !strings.Contains(strings.Join(strings.Fields(after), " "), "the same 3m20s of the trace") {
		t.Errorf("exit code %d, %q, %s", text.code, text.stdout, text.err)
	}
}

// While it plays, a browser sees it; where the address is taken, it plays without.
func TestDemoServesThePage(t *testing.T) {
	t.Parallel() // it plays for eight seconds
	requireGL(t)
	told, to := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(t.Context(), []string{"demo", "--compare=0", "--limit", "8m", "--http", "127.0.0.1:0"}, terminal.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: to})
		to.Close()
	}()
	lines := bufio.NewScanner(told)
	if !lines.Scan() {
		t.Fatal("it said nothing")
	}
	_, url, found := strings.Cut(lines.Text(), "page at ")
	if !found {
		t.Fatal(lines.Text())
	}
	var last atomic.Value // line of its progress, or of what it ends with
	go func() {
		for lines.Scan() {
			last.Store(lines.Text())
		}
	}()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if page, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(page), "ringmaster</title>") {
		t.Errorf("%s, %v:\n%s", answer.Status, err, page)
	}
	taken := ringmaster(t, t.Context(), "", "demo", "--compare=0", "--limit", "1m", "--speed", "1000", "--http", strings.TrimPrefix(url, "http://"))
	if taken.code != 0 || !strings.Contains(taken.err, "no page (") {
		t.Errorf("with the address of another: %+v", taken)
	}
	if code := <-ended; code != 0 {
		t.Errorf("it ended with exit code %d: %v", code, last.Load())
	}
}

func TestImpossibleComparisonsAreRefused(t *testing.T) {
	for _, turns := range []string{"-1", "301"} {
		if got := ringmaster(t, t.Context(), "", "demo", "--compare="+turns); got.code != 1 || got.stdout != "" || !strings.Contains(got.err, "--compare "+turns+": want 0 to 300 turns") {
			t.Errorf("%+v", got)
		}
	}
}

func TestDemoRefusesWhatCannotBeMeant(t *testing.T) {
	for args, want := range map[string]string{
		"--fault-every=-3": "--fault-every -3", "--speed 0": "--speed 0", "--speed NaN": "--speed NaN", "--limit=-1s": "--limit -1s",
	} {
		if got := ringmaster(t, t.Context(), "", append([]string{"demo"}, strings.Fields(args)...)...); got.code != 1 || got.stdout != "" || !strings.Contains(got.err, want) {
			t.Errorf("%s: %+v", args, got)
		}
	}
}

func TestDemoCountsFaultsApart(t *testing.T) {
	t.Parallel()
	s, got := demoSummary(t, "--limit", "4m", "--speed", "200", "--fault-every", "100")
	hasTheDocumentedKeys(t, got)
	if got.code != 0 || s.SlotsFaulted == 0 || s.SlotsSubmitted != s.SlotsExecuted+s.SlotsFaulted {
		t.Errorf("exit code %d, %d submitted, %d executed, %d faulted: %s", got.code, s.SlotsSubmitted, s.SlotsExecuted, s.SlotsFaulted, got.err)
	}
	if s.TokensCounted != s.TokensGenerated {
		t.Errorf("faulted slots wrote: %d tokens expected, %d counted", s.TokensGenerated, s.TokensCounted)
	}
}

// requireGL ends a test on a machine without GL by gltest.Missing.
func requireGL(t *testing.T) {
	t.Helper()
	gltest.OpenUnclosed(t).Close()
}
