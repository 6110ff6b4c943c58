package natsio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"ringmaster/telemetry"
)

// shelf keeps files as graphs, and answers with them as results.
type shelf struct {
	files map[string][]byte
	fail  error
}

func (s *shelf) Answer(_ context.Context, queue string, r *telemetry.Resident) error {
	at := queue + "/" + r.Name
	switch {
	case s.fail != nil:
		return s.fail
	case r.Ask == telemetry.ResidentLoad && !(r.Directed && r.Loops), r.Ask == telemetry.ResidentFacts && (r.Directed || r.Loops):
		return fmt.Errorf("%w: directed %t, loops %t", ErrGraphRequest, r.Directed, r.Loops)
	case r.Ask == telemetry.ResidentLoad, r.Ask == telemetry.ResidentFacts:
		if uint64(len(s.files[at])) != r.Offset {
			return fmt.Errorf("%w: part at %d", ErrGraphRequest, r.Offset)
		}
		s.files[at] = append(s.files[at], r.Data...)
		r.Facts = uint64(len(s.files[at]))
	case r.Ask == telemetry.ResidentRead:
		rest := s.files[at][r.Offset:]
		r.Data = append(r.Data[:0], rest[:min(len(rest), telemetry.MaxGraphPart)]...)
	}
	return nil
}

func TestGraphFilesAndResultsTravelInParts(t *testing.T) {
	server := newServer(t)
	worker := dial(t, fastConfig(server.URL()))
	s := &shelf{files: make(map[string][]byte)}
	service, err := worker.ServeGraphs("gpu0", s)
	must(t, err)
	flush(t, worker)
	c, ctx := dial(t, fastConfig(server.URL())), testContext(t)
	file := make([]byte, 2*telemetry.MaxGraphPart+7)
	for i := range file {
		file[i] = byte(i * i >> 3)
	}
	must(t, c.LoadGraph(ctx, "gpu0", "q", "g", bytes.NewReader(file), uint64(len(file)), GraphOptions{Directed: true, Loops: true}))
	if !bytes.Equal(s.files["q/g"], file) {
		t.Fatalf("%d of %d bytes arrived, or others", len(s.files["q/g"]), len(file))
	}
	got, err := c.GraphResult(ctx, "gpu0", "q", "g", 1, 5, uint64(len(file)-1))
	if err != nil || !bytes.Equal(got, file[5:len(file)-1]) {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if _, err := c.GraphResult(ctx, "gpu0", "q", "g", 1, 5, uint64(len(file)+1)); err == nil {
		t.Error("more came back than there is")
	}
	if number, err := c.SendFacts(ctx, "gpu0", "q", "flow", file); err != nil || number != uint64(len(file)) || !bytes.Equal(s.files["q/flow"], file) {
		t.Errorf("facts %d, %v", number, err)
	}
	if stats := service.Stats(); stats.Served < 6 || stats.Refused != 0 {
		t.Errorf("%+v", stats)
	}
	must(t, service.Stop(ctx))
}

func TestGraphRequestsThatCannotBeAreRefusedWithAReason(t *testing.T) {
	server := newServer(t)
	worker := dial(t, fastConfig(server.URL()))
	s := &shelf{files: make(map[string][]byte)}
	_, err := worker.ServeGraphs("gpu0", s)
	must(t, err)
	flush(t, worker)
	c, ctx := dial(t, fastConfig(server.URL())), testContext(t)
	for _, want := range []error{ErrNoGraph, ErrGraphTooLarge, ErrGraphRequest} {
		s.fail = fmt.Errorf("%w: because", want)
		if _, err := c.AskGraphs(ctx, "gpu0", "q", &telemetry.Resident{Ask: telemetry.ResidentRun, Name: "g"}); !errors.Is(err, want) || !strings.HasSuffix(err.Error(), "q: "+want.Error()+": because") {
			t.Errorf("got %v, want %v, once", err, want)
		}
	}
	s.fail = nil
	for name, err := range map[string]error{
		"a name that is none": func() error {
			_, err := c.AskGraphs(ctx, "gpu0", "q", &telemetry.Resident{Ask: telemetry.ResidentDrop, Name: "a b"})
			return err
		}(),
		"a file that ends early": c.LoadGraph(ctx, "gpu0", "q", "g", strings.NewReader("abc"), 4, GraphOptions{Directed: true, Loops: true}),
		"a part out of order":    c.LoadGraph(ctx, "gpu0", "q", "g", strings.NewReader("abc"), 3, GraphOptions{Directed: true, Loops: true}),
	} {
		if name == "a part out of order" && err == nil {
			_, err = c.AskGraphs(ctx, "gpu0", "q", &telemetry.Resident{Ask: telemetry.ResidentLoad, Name: "g", Offset: 9})
		}
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := c.AskGraphs(ctx, "gpu1", "q", &telemetry.Resident{Ask: telemetry.ResidentList}); !errors.Is(err, ErrNoRuntime) {
		t.Errorf("no such worker: %v", err)
	}
}
