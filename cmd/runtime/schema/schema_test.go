package schema

import (
	"testing"
	"time"
)

func TestSchemaIsOfTheFieldsAsTheyAreEncoded(t *testing.T) {
	type inner struct {
		Decision uint64 `json:"decision,string"`
	}
	type outer struct {
		inner
		Queues []inner            `json:"queues"`
		AgeS   *float64           `json:"age_s,omitempty"`
		At     time.Time          `json:"at"`
		On     bool               `json:"on"`
		By     map[string]int     `json:"by,omitzero"`
		Hidden map[string]float64 `json:"-"`
	}
	const decision = `{"properties":{"decision":{"type":"string"}},"required":["decision"],"type":"object"}`
	want := `{"properties":{"age_s":{"type":"number"},"at":{"format":"date-time","type":"string"},` +
		`"by":{"additionalProperties":{"type":"integer"},"type":"object"},"decision":{"type":"string"},"on":{"type":"boolean"},` +
		`"queues":{"items":` + decision + `,"type":"array"}},"required":["decision","queues","at","on"],"type":"object"}`
	if got := Of[outer](); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
