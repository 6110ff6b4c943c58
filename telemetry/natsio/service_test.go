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
	svc, err := runtime.RegisterService(ServiceConfig{Version: "v1.2.3", Metadata: map[string]string{"worker": "gpu0"}, Status: func() any { return map[string]int{"decisions": 7} }})
	if err != nil {
		t.Fatal(err)
	}
	flush(t, runtime)
	if svc.ID() == "" {
		t.Error("no id")
	}
	for subject, want := range map[string]string{
		"$SRV.PING": `"name":"ringmaster"`, "$SRV.PING.ringmaster": `"version":"1.2.3"`, "$SRV.PING.ringmaster." + svc.ID(): `"worker":"gpu0"`,
		"$SRV.INFO.ringmaster": `"subject":"ringmaster.v1.status"`, "$SRV.STATS.ringmaster": `"decisions":7`, "ringmaster.v1.status": `{"decisions":7}`,
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
