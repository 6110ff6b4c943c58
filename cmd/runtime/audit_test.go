package main

import (
	"encoding/json"
	"strings"
	"testing"

	"ringmaster/cmd/runtime/audit"
)

// The stream that a process leaves is whole; what somebody stores past the comparison is named.
func TestAuditProvesTheStreamOrNamesTheHole(t *testing.T) {
	s := serve(t, "--decide-only")
	command := func(args ...string) outcome {
		t.Helper()
		return ringmaster(t, t.Context(), "", append([]string{"audit", "--nats", s.url}, args...)...)
	}
	if got := command(); got.code != 1 {
		t.Errorf("an empty stream: %+v", got)
	}
	p := publisherOn(t, s.url)
	p.announce()
	for i := range uint16(20) {
		p.answered("q", p.report("q", i*100))
	}
	if got := command(); got.code != 0 || !strings.Contains(got.stdout, "none was made twice, none is missing") {
		t.Errorf("a whole stream: %+v", got)
	}
	stream, err := p.JetStream().Stream(t.Context(), "RINGMASTER_DECIDED")
	if err != nil {
		t.Fatal(err)
	}
	last, err := stream.GetLastMsgForSubject(t.Context(), p.Subjects().Decided("w9", "q"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.JetStream().Publish(t.Context(), p.Subjects().Decided("w9", "q"), last.Data); err != nil {
		t.Fatal(err)
	}
	got := command("--json")
	var r audit.Report
	if err := json.Unmarshal([]byte(got.stdout), &r); err != nil || got.code != 1 || r.HoleCount != 2 || !strings.Contains(r.Holes[1].What, "it was made twice") {
		t.Errorf("one that is there twice: %+v, %v", got, err)
	}
	s.stop()
}
