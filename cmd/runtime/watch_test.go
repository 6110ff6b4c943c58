package main

import (
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/client"
)

func TestWatchSaysWhatWasDecided(t *testing.T) {
	a := client.Advice{Worker: "w1", Queue: "q", Valid: true, At: time.Now().Add(-12 * time.Second), Recommendation: telemetry.Recommendation{Topology: "dense_frontier", Decision: 7}}
	c := watchCmd{}
	if got := c.line(&a); !strings.HasPrefix(got, "w1.q: decision 7: dense_frontier") {
		t.Errorf("%q", got)
	}
	a.Valid = false
	if got := c.line(&a); !strings.Contains(got, "expired: nobody has decided for 12s") {
		t.Errorf("%q", got)
	}
	c.JSON = true
	if got := c.line(&a); got != "" {
		t.Errorf("%q is no recommendation", got)
	}
}

// The escape character of eight bits is no control character to JSON.
func TestWatchCleansTheTextOfJSON(t *testing.T) {
	c := watchCmd{JSON: true}
	got := c.line(&client.Advice{Worker: "w1", Queue: "q", Valid: true, Recommendation: telemetry.Recommendation{Error: "a\u009b2Jb\x1b[2J"}})
	if strings.ContainsAny(got, "\u009b\x1b") || !strings.Contains(got, `"error":"a`) {
		t.Errorf("%q", got)
	}
}
