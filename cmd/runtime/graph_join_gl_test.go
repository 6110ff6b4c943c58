//go:build cgo

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGraphRunJoinGivesTheWidestWay(t *testing.T) {
	requireGL(t)
	out := filepath.Join(t.TempDir(), "values.txt")
	r := graphJSON(t, "10 11 5\n11 12 3\n10 12 2\n12 13 9\n14 15 1\n", "run", "join", "--join", widestJoin, "--source", "10", "--out", out, "-")
	values, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := "10 4294967295\n11 5\n12 3\n13 3\n14 -1\n15 -1\n"; string(values) != want {
		t.Errorf("%q, want %q", values, want)
	}
	if r.Reached != 4 || r.EdgesTraversed != 4 {
		t.Errorf("%d nodes reached over %d edges, want 4 over 4", r.Reached, r.EdgesTraversed)
	}
}

func TestGraphRunJoinIsVerifiedByItsEquations(t *testing.T) {
	requireGL(t)
	hops := writeFile(t, "hops.glsl", "//! kind: join\n//! name: hops\n//! join: min\n//! seed: 0\nresult(value + 1u);\n")
	for _, topology := range []string{"auto", "dense", "sparse"} {
		args := []string{"run", "join", "--join", hops, "--source", "0", "--topology", topology, "--verify", caida}
		r := graphJSON(t, "", args...)
		if !r.Verified || r.VerifiedBy != "equations" || r.Reached != 26475 {
			t.Errorf("%s: %+v", topology, r)
		}
		if code, out, errs := runGraph("", args...); code != 0 || !strings.Contains(out, "all 26,475 values solve the join's equations") {
			t.Errorf("%s: %s%s", topology, out, errs)
		}
	}
	turns := writeFile(t, "turns.glsl", "//! kind: join\n//! name: turns\n//! join: min\n//! seed: 0\nresult(value < 5u ? 9u : 1u);\n")
	code, _, errs := runGraph("0 1\n0 2\n1 2\n2 3\n", "run", "join", "--join", turns, "--directed", "--source", "0", "--topology", "sparse", "--verify", "-")
	if code != 1 || !strings.Contains(errs, "node 3 has 1, what it begins with and what arrives make 9") || !strings.Contains(errs, "order of arrivals") {
		t.Errorf("a join that depends on the order: exit code %d, %s", code, errs)
	}
}
