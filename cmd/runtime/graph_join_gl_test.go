//go:build cgo

package main

import (
	"os"
	"path/filepath"
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
