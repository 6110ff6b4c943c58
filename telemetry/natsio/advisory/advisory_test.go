package advisory

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"

	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

var must = natstest.Must

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnEventIsToldOnceAMinuteAndQueue(t *testing.T) {
	url := bustest.Server(t).URL()
	here, operator := bustest.Dial(t, url), bustest.Dial(t, url)
	heard := make(chan *nats.Msg, 16)
	if _, err := operator.NATS().ChanSubscribe("ringmaster.v1.advisory.>", heard); err != nil {
		t.Fatal(err)
	}
	must(t, operator.Flush(t.Context()))
	teller := New(here)
	for range 3 {
		teller.Tell(BatchSetAside, Event{Worker: "gpu0", Queue: "q", Batch: "b\x1b[2J\u009b1", Why: strings.Repeat("x", 1000)})
		teller.Tell(TookOver, Event{Worker: "gpu0", Queue: "q", Decision: 1 << 60})
		teller.Tell(TookOver, Event{Worker: "gpu0", Queue: "other", Decision: 5})
		(*Teller)(nil).Tell(NodeJoined, Event{Worker: "gpu0"})
	}
	teller.Tell(BatchSetAside, Event{Worker: "gpu0", Queue: "r", Batch: "b2"})
	must(t, here.Flush(t.Context()))
	var got []Event
	for range 3 {
		m := <-heard
		var e Event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			t.Fatalf("%v in %s", err, m.Data)
		}
		if m.Subject != "ringmaster.v1.advisory."+strings.TrimPrefix(e.Type, "ringmaster.advisory.v1.")+".gpu0" {
			t.Errorf("%s on %s", e.Type, m.Subject)
		}
		if len(e.ID) != 16 || e.Node != id(here.Incarnation()) || time.Since(e.Time) > time.Minute {
			t.Errorf("%+v", e)
		}
		e.ID, e.Node, e.Time = "", "", time.Time{}
		got = append(got, e)
	}
	want := []Event{
		{Type: "ringmaster.advisory.v1.batch_set_aside", Worker: "gpu0", Queue: "q", Batch: "b?[2J?1", Why: strings.Repeat("x", 256)},
		{Type: "ringmaster.advisory.v1.took_over", Worker: "gpu0", Queue: "q", Decision: 1 << 60},
		{Type: "ringmaster.advisory.v1.batch_set_aside", Worker: "gpu0", Queue: "r", Batch: "b2"},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if len(heard) > 0 {
		t.Errorf("%s too", (<-heard).Data)
	}
}

// docs/operating.md has a row for each kind.
func TestEveryKindIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../../docs/operating.md")
	must(t, err)
	for _, kind := range Kinds() {
		if !strings.Contains(string(page), "\n| `"+string(kind)+"` |") {
			t.Errorf("docs/operating.md has no row for %s", kind)
		}
	}
}
