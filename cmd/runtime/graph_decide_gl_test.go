//go:build cgo

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/policy"
	"ringmaster/telemetry/decisionlog"
)

func TestHostAndDeviceDecideEveryLevelAlike(t *testing.T) {
	requireGL(t)
	for _, args := range []string{
		"bfs --source 0 " + facebook,
		"bfs --source 107 --policy reference " + facebook,
		"bfs --source 107 --directed " + facebook,
		"bfs --source 0 " + caida,
		"bfs --source 1 --generate kronecker:12",
		"bfs --source 1 --generate uniform:12",
		"bfs --source 0 --generate grid:96x96",
		"bfs --source 0 --generate path:700",
		"bfs --source 0 --budget 700000 " + facebook,
	} {
		run := func(decide string) []string {
			r := graphJSON(t, "", append([]string{"run", "--decide", decide, "--verify"}, strings.Fields(args)...)...)
			var levels []string
			for _, l := range r.Details {
				why, _, _ := strings.Cut(l.Why, ";") // what runs in the persistent kernel depends on the host's visits
				levels = append(levels, fmt.Sprintf("%s %d %d: %s", l.Topology, l.Nodes, l.Edges, why))
			}
			return levels
		}
		host, device := run("host"), run("device")
		if !slices.Equal(host, device) || len(host) == 0 {
			t.Errorf("%s: host decided\n%s\ndevice\n%s", args, strings.Join(host, "\n"), strings.Join(device, "\n"))
		}
	}
}

// Values that are corrected within a level make levels of other algorithms differ from run to run.
func TestEveryLevelOfEveryAlgorithmIsThePolicys(t *testing.T) {
	requireGL(t)
	for _, args := range []string{
		"sssp --source 7 " + facebook,
		"sssp --source 1 --generate kronecker:10 --weights 20",
		"cc " + caida,
		"reach --source 5 --source 26000 " + caida,
		"reach --source 5 --policy reference --directed " + facebook,
	} {
		for _, decide := range []string{"host", "device"} {
			path := filepath.Join(t.TempDir(), "decisions.log")
			r := graphJSON(t, "", append([]string{"run", "--decide", decide, "--decisions", path, "--verify"}, strings.Fields(args)...)...)
			var logged []string
			for _, e := range readAll(t, path) {
				if e.Director == (decide == "device") && e.Plan.Topology > policy.TopologyEmpty {
					logged = append(logged, e.Plan.Topology.String())
				}
			}
			if !slices.Equal(logged, r.Topologies) {
				t.Errorf("%s, decided on the %s: ran as %v, logged %v", args, decide, r.Topologies, logged)
			}
			if got := ringmaster(t, t.Context(), "", "replay", path); got.code != 0 {
				t.Errorf("%s, decided on the %s: %s", args, decide, got.stdout)
			}
		}
	}
}

// loggedGraphRun is a decision log of a job, and its entries.
func loggedGraphRun(t *testing.T, decide string) (path string, entries []decisionlog.Entry) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "decisions.log")
	if code, _, errs := runGraph("", "run", "bfs", "--source", "0", "--decide", decide, "--decisions", path, caida); code != 0 {
		t.Fatal(errs)
	}
	return path, readAll(t, path)
}

func TestGraphRunsReplayLevelByLevel(t *testing.T) {
	requireGL(t)
	path, entries := loggedGraphRun(t, "device")
	levels := 0
	for _, e := range entries {
		if e.Director {
			if int(e.Level) != levels || e.Job != 1 || e.Decision != 1 || e.Request.GraphNodeCount != 26475 {
				t.Errorf("level %d: %+v", levels, e)
			}
			levels++
		}
	}
	got := ringmaster(t, t.Context(), "", "replay", path)
	if got.code != 0 || levels != 15 || !strings.Contains(got.stdout, "every decision replays byte for byte") || !strings.Contains(got.stdout, "local.graph levels         15 ") {
		t.Errorf("%d levels, exit code %d: %s%s", levels, got.code, got.stdout, got.err)
	}
	path, entries = loggedGraphRun(t, "host")
	if len(entries) < 15 || slices.ContainsFunc(entries, func(e decisionlog.Entry) bool { return e.Director }) {
		t.Errorf("%d decisions of the host", len(entries))
	}
	if got := ringmaster(t, t.Context(), "", "replay", path); got.code != 0 {
		t.Errorf("exit code %d: %s%s", got.code, got.stdout, got.err)
	}
}

func TestATamperedLevelIsNamed(t *testing.T) {
	requireGL(t)
	_, entries := loggedGraphRun(t, "device")
	at := func(level uint32) int {
		return slices.IndexFunc(entries, func(e decisionlog.Entry) bool { return e.Director && e.Level == level })
	}
	for name, c := range map[string]struct {
		tamper func(e *decisionlog.Entry)
		want   string
	}{
		"topology": {func(e *decisionlog.Entry) { e.Plan.Topology = policy.TopologySparse }, "plan.topology: logged sparse_frontier, replayed dense_frontier"},
		"state":    {func(e *decisionlog.Entry) { e.After.Topology.Topology = policy.TopologyFused }, "after.topology.topology: logged fused_dense, replayed dense_frontier"},
		"before":   {func(e *decisionlog.Entry) { e.Before.Topology.Topology = policy.TopologyFused }, "before.topology.topology: logged fused_dense, replayed hybrid_frontier"},
		"request":  {func(e *decisionlog.Entry) { e.Request.FrontierOutDegreeSum = 2000 }, "plan.raw_topology: logged dense_frontier, replayed hybrid_frontier"},
		"geometry": {func(e *decisionlog.Entry) { e.Plan.WorkgroupSizeX = 32 }, "plan.workgroup_size_x: logged 32, replayed nothing"},
	} {
		i := at(3)
		kept := entries[i]
		c.tamper(&entries[i])
		got := ringmaster(t, t.Context(), "", "replay", writeLog(t, entries...))
		entries[i] = kept
		if want := "local.graph levels: decision 1, job 1, level 3: "; got.code != 1 || !strings.Contains(got.stdout, want) || !strings.Contains(got.stdout, c.want) {
			t.Errorf("%s: exit code %d, want %q and %q in %s%s", name, got.code, want, c.want, got.stdout, got.err)
		}
	}
	missing := slices.Delete(slices.Clone(entries), at(4), at(7))
	if got := ringmaster(t, t.Context(), "", "replay", writeLog(t, missing...)); !strings.Contains(got.stdout, "local.graph levels         12               0        3          0") {
		t.Errorf("three levels left out: %s", got.stdout)
	}
}

// A run's own budget leaves less room for hits, and its levels as the policy decides them without it.
func TestABudgetOfARunBoundsItsHitBuffers(t *testing.T) {
	requireGL(t)
	free := graphJSON(t, "", "run", "bfs", "--source", "0", facebook)
	if free.HitCapacity != 4039 || slices.Contains(free.Topologies, "memory_constrained") {
		t.Fatalf("without a budget: %+v", free)
	}
	fixed := free.JobBytes - 8*uint64(free.HitCapacity)
	for _, decide := range []string{"device", "host"} {
		tight := graphJSON(t, "", "run", "bfs", "--source", "0", "--verify", "--decide", decide, "--budget", fmt.Sprint(fixed+8*2000), facebook)
		if !slices.Equal(tight.Topologies, free.Topologies) || tight.HitCapacity != 2000 || tight.JobBytes != fixed+8*2000 {
			t.Errorf("%s: %+v", decide, tight)
		}
	}
	sparse := []string{"run", "bfs", "--source", "0", "--topology", "sparse", "--budget", fmt.Sprint(fixed + 8*1024), facebook}
	code, out, errs := runGraph("", sparse...)
	if want := "room for 1,024 hits at a time: "; code != 0 || !strings.Contains(out, want) {
		t.Errorf("exit code %d: %s%s, want %q", code, out, errs, want)
	}
	code, _, errs = runGraph("", "run", "bfs", "--source", "0", "--budget", fmt.Sprint(fixed+8*1000), facebook)
	if code != 1 || !strings.Contains(errs, fmt.Sprintf("is too small: values, bitmaps and two hit buffers of 1024 nodes take %d bytes", fixed+8*1024)) {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestGraphRunsAppendToTheirDecisionLog(t *testing.T) {
	requireGL(t)
	path := filepath.Join(t.TempDir(), "no", "such", "directory")
	if code, _, errs := runGraph("0 1", "run", "bfs", "--source", "0", "--decisions", path, "-"); code != 1 || !strings.Contains(errs, "no such file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	path, before := loggedGraphRun(t, "device")
	if code, _, errs := runGraph("0 1", "run", "bfs", "--source", "0", "--decisions", path, "-"); code != 0 {
		t.Fatal(errs)
	}
	if after := readAll(t, path); len(after) <= len(before) {
		t.Errorf("%d decisions after %d", len(after), len(before))
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}
