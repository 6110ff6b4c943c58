package natsio

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func TestServiceIsFoundAndAnswers(t *testing.T) {
	url := embedded(t).URL()
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
func TestServiceAnswersNowhereButAtInboxes(t *testing.T) {
	url := embedded(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	svc, err := runtime.RegisterService("v1.2.3", nil, func() any { return 7 })
	if err != nil {
		t.Fatal(err)
	}
	flush(t, runtime)
	heard, err := client.nc.SubscribeSync("ringmaster.v1.worker.victim")
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{
		"$SRV.PING", "$SRV.PING.ringmaster", "$SRV.PING.ringmaster." + svc.ID(), "$SRV.INFO", "$SRV.INFO.ringmaster", "$SRV.INFO.ringmaster." + svc.ID(),
		"$SRV.STATS", "$SRV.STATS.ringmaster", "$SRV.STATS.ringmaster." + svc.ID(), "ringmaster.v1.status",
	} {
		must(t, client.nc.PublishRequest(subject, heard.Subject, nil))
		m, err := client.nc.Request(subject, nil, patience) // handled in order
		if err != nil || !json.Valid(m.Data) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	if n, _, err := heard.Pending(); n != 0 || err != nil {
		t.Errorf("%d answers on a subject of somebody else, %v", n, err)
	}
	must(t, svc.Stop())
}

// What the service says is what the library's own would say.
func TestServiceSpeaksTheProtocolOfTheLibrary(t *testing.T) {
	url := embedded(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	metadata := map[string]string{"worker": "gpu0"}
	ours, err := runtime.RegisterService("v1.2.3", metadata, func() any { return []int{7} })
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := micro.AddService(client.nc, micro.Config{
		Name: "other", Version: "1.2.3", Description: serviceDescription, Metadata: metadata,
		StatsHandler: func(*micro.Endpoint) any { return []int{7} },
	})
	if err == nil {
		err = theirs.AddEndpoint("status", micro.HandlerFunc(func(r micro.Request) { _ = r.RespondJSON([]int{7}) }), micro.WithEndpointSubject("other.status"))
	}
	if err != nil {
		t.Fatal(err)
	}
	flush(t, runtime)
	ask := func(subject string) (m map[string]any) {
		t.Helper()
		answer, err := client.nc.Request(subject, nil, patience)
		if err == nil {
			err = json.Unmarshal(answer.Data, &m)
		}
		if err != nil {
			t.Fatalf("%s: %v", subject, err)
		}
		return m
	}
	for _, subject := range []string{"ringmaster.v1.status", "other.status"} {
		if _, err := client.nc.Request(subject, nil, patience); err != nil {
			t.Fatal(err)
		}
	}
	for _, verb := range []string{"PING", "INFO", "STATS"} {
		got, want := ask("$SRV."+verb+".ringmaster"), ask("$SRV."+verb+".other")
		for _, m := range []map[string]any{got, want} {
			delete(m, "id")
			delete(m, "started")
			delete(m, "name")
			for _, e := range append([]any{}, listOf(m["endpoints"])...) {
				e := e.(map[string]any)
				delete(e, "subject")
				delete(e, "processing_time")
				delete(e, "average_processing_time")
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, the library says %v", verb, got, want)
		}
	}
	must(t, ours.Stop())
	must(t, theirs.Stop())
}

func listOf(v any) []any { l, _ := v.([]any); return l }
