package main

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"ringmaster/megakernel/gpu"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// emptyStore is a store whose device may not be touched.
func emptyStore(t *testing.T, budget uint64) *graphStore {
	return newGraphStore(&graphStore{
		borrow: func(func(gpu.Device) error) error {
			t.Error("the device was borrowed")
			return errors.New("no device")
		},
		budget: budget, repair: func() {}, log: slog.New(slog.DiscardHandler),
	})
}

func TestGraphsThatCannotBeAreRefusedBeforeTheDeviceIsTouched(t *testing.T) {
	part := func(offset, total uint64, data string) telemetry.Resident {
		return telemetry.Resident{Ask: telemetry.ResidentLoad, Name: "g", Offset: offset, Total: total, Data: []byte(data)}
	}
	for name, c := range map[string]struct {
		parts []telemetry.Resident
		want  error
		text  string
	}{
		"a part that follows nothing":  {[]telemetry.Resident{part(3, 9, "0 1")}, natsio.ErrGraphRequest, "follows nothing"},
		"a part that leaves a gap":     {[]telemetry.Resident{part(0, 9, "0 1"), part(4, 9, "1 2")}, natsio.ErrGraphRequest, "follows nothing"},
		"more than the total":          {[]telemetry.Resident{part(0, 2, "0 1")}, natsio.ErrGraphRequest, "for a file of 2"},
		"a total beyond the cap":       {[]telemetry.Resident{part(0, 1<<40, "0 1")}, natsio.ErrGraphTooLarge, "may come over NATS"},
		"a line that is no edge":       {[]telemetry.Resident{part(0, 9, "0 1\n"), part(4, 9, "1 -2\n")}, natsio.ErrGraphRequest, "line 2"},
		"more than the memory budget":  {[]telemetry.Resident{part(0, 3, "0 1")}, natsio.ErrGraphTooLarge, "budget is 10"},
		"a join that nobody allowed":   {[]telemetry.Resident{{Ask: telemetry.ResidentRun, Name: "g", Algorithm: "join"}}, natsio.ErrGraphRequest, "ringmaster run --accept-joins"},
		"facts before any load":        {[]telemetry.Resident{{Ask: telemetry.ResidentFacts, Name: "g"}}, natsio.ErrNoGraph, "no graph g"},
		"an algorithm before any load": {[]telemetry.Resident{{Ask: telemetry.ResidentRun, Name: "g", Algorithm: "cc"}}, natsio.ErrNoGraph, "no graph g"},
	} {
		s := emptyStore(t, 10)
		var err error
		for i := range c.parts {
			if err != nil {
				t.Errorf("%s: part %d: %v", name, i-1, err)
			}
			err = s.Answer(context.Background(), "q", &c.parts[i])
		}
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
}

func TestRunRequestsAreCheckedLikeTheCommandLine(t *testing.T) {
	for want, r := range map[string]telemetry.Resident{
		"algorithm \"dfs\"":                        {Algorithm: "dfs"},
		"topology \"round\"":                       {Algorithm: "cc", Topology: "round"},
		"bfs takes one --source":                   {Algorithm: "bfs"},
		"7 bytes of sources":                       {Algorithm: "bfs", Data: make([]byte, 7)},
		"264 bytes of sources":                     {Algorithm: "reach", Data: make([]byte, 264)},
		"flow takes no --source":                   {Algorithm: "flow", Data: make([]byte, 8)},
		"facts are for the algorithm flow, not cc": {Algorithm: "cc", Facts: 3},
		"a join is for the algorithm join, not cc": {Algorithm: "cc", Join: []byte("result(value);")},
		"the header has no line":                   {Algorithm: "join", Data: make([]byte, 8)},
		"join:5: load: a join has no loops and no memory": {Algorithm: "join", Data: make([]byte, 8),
			Join: []byte("//! kind: join\n//! name: peeks\n//! join: min\n//! seed: 0\nresult(load(value));\n")},
		"has 260 names, numbers and operators; one that goes to a worker over NATS may have 256": {Algorithm: "join", Data: make([]byte, 8),
			Join: []byte("//! kind: join\n//! name: long\n//! join: min\n//! seed: 0\nresult(value" + strings.Repeat(" + 1u", 127) + ");" + " ;")},
		"join takes at least one --source": {Algorithm: "join", Join: []byte("//! kind: join\n//! name: hops\n//! join: min\n//! seed: 0\nresult(value + 1u);\n")},
	} {
		if _, err := graphRunOf(&r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
