package main

import (
	"strings"
	"testing"
	"unicode"

	"ringmaster/cmd/runtime/slots"
	"ringmaster/cmd/runtime/terminal"
	"ringmaster/telemetry"
)

// Whoever may publish under a worker's name chooses these texts.
func TestTextsFromTheBusDoNotReachTheTerminalAsCommands(t *testing.T) {
	const evil = "a\x1b]0;b\x07\u009bc\rd\n"
	r := telemetry.Recommendation{Error: evil, Topology: evil, ExecutionMode: evil}
	texts := append(planCells("q", &r), describe(&r))
	r.Error = ""
	texts = append(append(texts, planCells("q", &r)...), describe(&r))
	for _, text := range texts {
		if strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%q", text)
		}
	}
	var err strings.Builder
	s := submission{std: terminal.Stdio{Err: &err}}
	s.show(&slots.Group{Opcode: "nop"}, &telemetry.Done{Dropped: 1, Error: evil}, nil)
	if !strings.Contains(err.String(), "dropped: a\ufffd") || strings.Contains(err.String(), "\x1b") {
		t.Errorf("%q", err.String())
	}
}
