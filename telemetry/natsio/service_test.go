package natsio

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

func TestServiceIsFoundAndAnswers(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	svc, err := runtime.RegisterService("v1.2.3", map[string]string{"worker": "gpu0"}, func() any { return map[string]int{"decisions": 7} })
	if err != nil {
		t.Fatal(err)
	}
	flush(t, runtime)
	if svc.ID() == "" {
		t.Error("no id")
	}
	for subject, want := range map[string]string{
		"$SRV.PING.ringmaster": `"version":"1.2.3"`, "$SRV.STATS.ringmaster": `"decisions":7`, "ringmaster.v1.status": `{"decisions":7}`,
	} {
		m, err := client.nc.Request(subject, nil, patience)
		if err != nil || !strings.Contains(string(m.Data), want) {
			t.Errorf("%s: %v, want %s", subject, err, want)
		}
	}
	if err := svc.Stop(); err != nil {
		t.Error(err)
	}
	flush(t, runtime)
	if _, err := client.nc.Request("$SRV.PING.ringmaster", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after the end: %v", err)
	}
}

// A reply subject that is no inbox would borrow the runtime's permissions.
func TestStatusIsAnsweredAtInboxesOnly(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	svc, err := runtime.RegisterService("v1.2.3", nil, func() any { return 7 })
	must(t, err)
	flush(t, runtime)
	heard, err := client.nc.SubscribeSync("ringmaster.v1.worker.victim")
	must(t, err)
	must(t, client.nc.PublishRequest("ringmaster.v1.status", heard.Subject, nil))
	m, err := client.nc.Request("ringmaster.v1.status", nil, patience) // handled after the first
	if err != nil || string(m.Data) != "7" {
		t.Errorf("%v", err)
	}
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Errorf("%d answers on a subject of somebody else, %v", n, err)
	}
	must(t, svc.Stop())
}
