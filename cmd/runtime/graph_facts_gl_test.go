//go:build cgo

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ringmaster/megakernel/graph"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// asked runs a graph command on queue walks of a worker.
func (s served) asked(t *testing.T, args ...string) outcome {
	t.Helper()
	return ringmaster(t, t.Context(), "", append(append([]string{"graph"}, args...), "--nats", s.url, "--worker", "w1", "--queue", "walks")...)
}

func TestFlowOverNATSIsThatOfThePlainAlgorithm(t *testing.T) {
	requireGL(t)
	s := serve(t)
	edges := writeFile(t, "loop.el", loopEdges+"4 4\n")
	for name, file := range map[string]string{"loop": edges, "as": caida} {
		if got := s.asked(t, "load", name, file, "--directed", "--loops"); got.code != 0 {
			t.Fatal(got.err)
		}
	}
	rng := rand.New(rand.NewPCG(6, 6))
	var many strings.Builder
	for v := range 26475 {
		fmt.Fprintf(&many, "%d gen f%d kill f%d,f%d\n", v, rng.IntN(70), rng.IntN(30), 30+rng.IntN(40))
	}
	for _, c := range []struct{ name, file, facts string }{{"loop", edges, loopFacts}, {"as", caida, many.String()}} {
		facts, out, local := writeFile(t, "in.facts", c.facts), filepath.Join(t.TempDir(), "out"), filepath.Join(t.TempDir(), "local")
		got := s.asked(t, "run", "flow", c.name, "--facts", facts, "--out", out, "--json")
		var r graphReport
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatal(got.err, err)
		}
		if code, _, errs := runGraph("", "run", "flow", "--facts", facts, "--directed", "--engine", "reference", "--out", local, c.file); code != 0 {
			t.Fatal(errs)
		}
		want, err := os.ReadFile(local)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(out); err != nil || string(text) != string(want) {
			t.Errorf("%s: %d bytes of facts, %d by the plain algorithm, or others (%v)", c.name, len(text), len(want), err)
		}
		if passes := (r.Facts + 31) / 32; r.Passes != passes || len(r.Details) == 0 || r.Reached == 0 {
			t.Errorf("%s: %+v", c.name, r)
		}
	}
	unknown := writeFile(t, "unknown.facts", "99999 gen a\n")
	if got := s.asked(t, "run", "flow", "loop", "--facts", unknown); got.code != 1 || !strings.Contains(got.err, "node 99999 is no node of the graph") {
		t.Errorf("%d, %s", got.code, got.err)
	}
	if got := s.asked(t, "run", "flow", "nothing", "--facts", unknown); got.code != 1 || !strings.Contains(got.err, "no graph nothing") {
		t.Errorf("%d, %s", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestFactsAreTakenAwayByOneRun(t *testing.T) {
	s := newRingStore(t, 0)
	if err := s.put(t, "q", "g", "path:10"); err != nil {
		t.Fatal(err)
	}
	send := func(rows ...graph.FactRow) (uint64, error) {
		data := graph.AppendFactRows(nil, rows)
		r := telemetry.Resident{Ask: telemetry.ResidentFacts, Name: "g", Total: uint64(len(data)), Data: data}
		err := s.Answer(t.Context(), "q", &r)
		return r.Facts, err
	}
	run := func(number uint64) error {
		return s.Answer(t.Context(), "q", &telemetry.Resident{Ask: telemetry.ResidentRun, Name: "g", Algorithm: "flow", Facts: number})
	}
	first, err := send(graph.FactRow{Node: 0, Gen: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := run(first); err != nil {
		t.Fatal(err)
	}
	if err := run(first); !errors.Is(err, natsio.ErrNoGraph) || !strings.Contains(err.Error(), "send them again") {
		t.Errorf("facts a second time: %v", err)
	}
	if err := run(0); !errors.Is(err, natsio.ErrNoGraph) {
		t.Errorf("no facts: %v", err)
	}
	if _, err := send(graph.FactRow{Node: 1}, graph.FactRow{Node: 1}); !errors.Is(err, natsio.ErrGraphRequest) {
		t.Errorf("a node twice: %v", err)
	}
	var numbers []uint64
	for range maxKeptFacts + 1 {
		number, err := send(graph.FactRow{Node: 0, Gen: 1})
		if err != nil {
			t.Fatal(err)
		}
		numbers = append(numbers, number)
	}
	if err := run(numbers[0]); !errors.Is(err, natsio.ErrNoGraph) {
		t.Errorf("facts that others took the place of: %v", err)
	}
	if err := run(numbers[maxKeptFacts]); err != nil {
		t.Errorf("the newest facts: %v", err)
	}
}

func TestJoinsRunOverNATSWhereTheOperatorAllowsThem(t *testing.T) {
	requireGL(t)
	hops := writeFile(t, "hops.glsl", "//! kind: join\n//! name: hops\n//! join: min\n//! seed: 0\nresult(value + 1u);\n")
	s := serve(t, "--accept-joins")
	if got := s.asked(t, "load", "as", caida); got.code != 0 {
		t.Fatal(got.err)
	}
	values := make(map[string]string)
	for _, args := range []string{"join as --join " + hops, "bfs as"} {
		out := filepath.Join(t.TempDir(), "out")
		got := s.asked(t, append([]string{"run", "--source", "0", "--out", out}, strings.Fields(args)...)...)
		text, err := os.ReadFile(out)
		if got.code != 0 || err != nil || !strings.Contains(got.stdout, "26,475 nodes reached") {
			t.Fatalf("%s: %s%s, %v", args, got.stdout, got.err, err)
		}
		values[args[:3]] = string(text)
	}
	if values["joi"] != values["bfs"] {
		t.Error("a join over NATS differs from the levels that it restates")
	}
	// What passes the check and not the compiler is refused with the join's name, and the worker goes on.
	floats := writeFile(t, "floats.glsl", "//! kind: join\n//! name: floats\n//! join: min\n//! seed: 0\nresult(value + 1.5);\n")
	if got := s.asked(t, "run", "join", "--join", floats, "--source", "0", "as"); got.code != 1 || !strings.Contains(got.err, "floats") || !strings.Contains(got.err, "refused") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	large := writeFile(t, "large.glsl", "//! kind: join\n//! name: large\n//! join: min\n//! seed: 0\nresult(value);\n"+strings.Repeat("// long\n", 1024))
	if got := s.asked(t, "run", "join", "--join", large, "--source", "0", "as"); got.code != 1 || !strings.Contains(got.err, "a join of up to 8192 may go to a worker") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	many := writeFile(t, "many.glsl", "//! kind: join\n//! name: many\n//! join: min\n//! seed: 0\nresult(value"+strings.Repeat(" + 1u", 200)+");\n")
	if got := s.asked(t, "run", "join", "--join", many, "--source", "0", "as"); got.code != 1 || !strings.Contains(got.err, "may have 256") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if got := s.asked(t, "run", "bfs", "as", "--source", "0"); got.code != 0 {
		t.Error(got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
	strict := serve(t)
	if got := strict.asked(t, "load", "as", caida); got.code != 0 {
		t.Fatal(got.err)
	}
	if got := strict.asked(t, "run", "join", "--join", hops, "--source", "0", "as"); got.code != 1 || !strings.Contains(got.err, "ringmaster run --accept-joins") {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if code := strict.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}
