//go:build cgo

package main

import (
	"bytes"
	"strings"
	"testing"

	"ringmaster/glcompute"
)

func TestBenchGraphHasRowsOfTheActorsDecisions(t *testing.T) {
	requireGL(t)
	device, _, err := glcompute.Open(glcompute.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	var out bytes.Buffer
	flags := &graphBenchFlags{Sources: 1, Graph: []string{"kronecker:13"}}
	if err := benchGraphDevice(t.Context(), device, flags, &benchReport{out: &out, json: true}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"graph/bfs/kronecker:13", "graph/bfs/host/kronecker:13", "graph/bfs/actors/kronecker:13", "graph/bfs/host/actors/kronecker:13"} {
		if !strings.Contains(out.String(), `"name":"`+name+`","value":`) {
			t.Errorf("no row %s in\n%s", name, &out)
		}
	}
}
