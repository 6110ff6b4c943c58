package policy

import (
	"encoding"
	"fmt"
	"testing"
)

func TestEnumerationsAndBitSetsSurviveAsText(t *testing.T) {
	check := func(value encoding.TextMarshaler, back encoding.TextUnmarshaler) {
		t.Helper()
		text, err := value.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := back.UnmarshalText(text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if again, _ := back.(encoding.TextMarshaler).MarshalText(); string(again) != string(text) {
			t.Errorf("%s came back as %s", text, again)
		}
		if err := back.UnmarshalText([]byte("dance")); err == nil {
			t.Errorf("%T takes an unknown name", back)
		}
	}
	for i := range topologyNames.list {
		check(Topology(i), new(Topology))
	}
	for i := range pressureNames.list {
		check(Pressure(i), new(Pressure))
	}
	for i := range modeNames.list {
		check(Mode(i), new(Mode))
	}
	for i := range launchModeNames.list {
		check(LaunchMode(i), new(LaunchMode))
	}
	for i := range ruleNames.list {
		check(Rule(i), new(Rule))
	}
	for i := range 1 << len(presenceNames.list) {
		check(Presence(i), new(Presence))
	}
	for i := range 1 << len(tunedNames.list) {
		check(TunedAxes(i), new(TunedAxes))
	}
	if got := fmt.Sprint(HasFrontierDensity|HasFrontierEdges, TunedWidth|TunedDepth); got != "frontier_density,frontier_edges width,depth" {
		t.Errorf("%s", got)
	}
	if got := fmt.Sprint(Presence(1 << 7)); got != "presence(128)" {
		t.Errorf("%s", got)
	}
}
