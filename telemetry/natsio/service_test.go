package natsio

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func TestServiceIsFoundAndAnswers(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	svc, err := runtime.RegisterService(ServiceConfig{Version: "v1.2.3", Metadata: map[string]string{"worker": "gpu0"}, Status: func() any { return map[string]int{"decisions": 7} }})
	must(t, err)
	flush(t, runtime)
	for subject, want := range map[string]string{
		"$SRV.PING": `"name":"ringmaster"`, "$SRV.PING.ringmaster": `"version":"1.2.3"`, "$SRV.PING.ringmaster." + svc.identity.ID: `"worker":"gpu0"`,
		"$SRV.INFO.ringmaster": `"subject":"ringmaster.v1.status"`, "$SRV.STATS.ringmaster": `"decisions":7`, "ringmaster.v1.status": `{"decisions":7}`,
	} {
		m, err := client.nc.Request(subject, nil, patience)
		if err != nil || !strings.Contains(string(m.Data), want) {
			t.Errorf("%s: %v, want %s", subject, err, want)
		}
	}
	if err := svc.Stop(testContext(t)); err != nil {
		t.Error(err)
	}
	flush(t, runtime)
	if _, err := client.nc.Request("$SRV.PING.ringmaster", nil, patience); !errors.Is(err, nats.ErrNoResponders) {
		t.Errorf("after the end: %v", err)
	}
}

// However many ask at one endpoint, another one answers: an operator can end a process that a crowd asks for explanations.
func TestACrowdAtOneEndpointKeepsNobodyFromAnother(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	release := make(chan struct{})
	began := make(chan string, answersAtOnce)
	svc, err := runtime.RegisterService(ServiceConfig{
		Status: func() any { return 1 },
		Queues: []QueueEndpoint{{Name: "explain", Answer: func(_ context.Context, worker, queue string) (any, error) {
			began <- worker + "." + queue
			<-release
			return 1, nil
		}}},
		Nodes: []NodeEndpoint{{Name: "drain", Answer: func(context.Context) (any, error) { return "drains", nil }}},
	})
	must(t, err)
	defer func() { must(t, svc.Stop(testContext(t))) }()
	defer close(release)
	flush(t, runtime)
	for range answersAtOnce {
		must(t, client.PublishRequest("ringmaster.v1.explain.gpu0.q", client.nc.NewInbox(), nil))
		if got := receive(t, began); got != "gpu0.q" {
			t.Fatalf("asked about %s", got)
		}
	}
	for subject, want := range map[string]string{"explain.gpu0.q": "429", "drain." + svc.identity.ID: ""} {
		m, err := client.nc.Request("ringmaster.v1."+subject, nil, patience)
		if err != nil || m.Header.Get(micro.ErrorCodeHeader) != want {
			t.Errorf("%s: %v %v, want %q", subject, err, m, want)
		}
	}
}

// What a service answers from, its owner takes apart once it has stopped.
func TestAServiceStopsWhenItHasAnswered(t *testing.T) {
	url := newServer(t).URL()
	runtime, client := dial(t, fastConfig(url)), dial(t, fastConfig(url))
	began, release := make(chan struct{}), make(chan struct{})
	svc, err := runtime.RegisterService(ServiceConfig{Status: func() any {
		began <- struct{}{}
		<-release
		return 1
	}})
	must(t, err)
	flush(t, runtime)
	must(t, client.PublishRequest("ringmaster.v1.status", client.nc.NewInbox(), nil))
	receive(t, began)
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if err := svc.Stop(over); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped while it answers: %v", err)
	}
	close(release)
}
