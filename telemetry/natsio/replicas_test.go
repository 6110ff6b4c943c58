package natsio

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/natstest"
)

func replicasOf(t *testing.T, c *Conn, stream string) int {
	t.Helper()
	s, err := c.js.Stream(testContext(t), stream)
	must(t, err)
	return s.CachedInfo().Config.Replicas
}

// leaderOfCurrent returns which server leads a stream, when the two others have all of it: new
// replicas need a moment.
func leaderOfCurrent(t *testing.T, c *Conn, stream string) string {
	t.Helper()
	ctx := testContext(t)
	s, err := c.js.Stream(ctx, stream)
	must(t, err)
	for attempt := 1; ; attempt++ {
		info, err := s.Info(ctx)
		must(t, err)
		behind := func(p *jetstream.PeerInfo) bool { return !p.Current || p.Offline || p.Lag > 0 }
		if cluster := info.Cluster; cluster.Leader != "" && len(cluster.Replicas) == 2 && !slices.ContainsFunc(cluster.Replicas, behind) {
			return cluster.Leader
		}
		if !c.Pause(ctx, attempt) {
			t.Fatalf("replicas of %s are behind: %+v", stream, info.Cluster)
		}
	}
}

// again does what a cluster may leave without an answer while it is young, until it is done.
func again(t *testing.T, c *Conn, do func(context.Context) error) {
	t.Helper()
	ctx := testContext(t)
	for attempt := 1; ; attempt++ {
		one, cancel := context.WithTimeout(ctx, apiTimeout)
		err := do(one)
		cancel()
		if err == nil {
			return
		}
		if !c.Pause(ctx, attempt) {
			t.Fatal(err)
		}
	}
}

// All that is stored on three servers is on all of them, so work flows on without one.
func TestStreamsOfAClusterHaveThreeReplicas(t *testing.T) {
	servers, urls := natstest.Cluster(t)
	c := dial(t, fastConfig(urls))
	ctx := testContext(t)
	old := c.workStream() // of before there was a cluster
	again(t, c, func(ctx context.Context) error {
		_, err := c.js.CreateStream(ctx, old)
		return err
	})
	again(t, c, func(ctx context.Context) error {
		_, err := c.js.CreateKeyValue(ctx, jetstream.KeyValueConfig{Bucket: c.ResultBucket(), MaxBytes: maxResultStore, MaxValueSize: MaxResultBytes})
		return err
	})

	s := openShop(t, urls, nil)
	results := c.NewResults()
	defer results.Close()
	again(t, c, func(context.Context) error {
		if results.reach() == nil {
			return errors.New("no bucket of results")
		}
		return nil
	})
	again(t, c, func(ctx context.Context) error { return c.PutGraph(ctx, "g", strings.NewReader("x")) })
	outlet := c.NewOutlet(OutletConfig{KeepDone: KeepAlways})
	sent := make(chan error, 1)
	for attempt := 1; ; attempt++ { // the stream needs a moment for its leader
		outlet.Done("gpu0", "a", &telemetry.Done{Batch: "b"}, func(err error) { sent <- err })
		if err := receive(t, sent); err == nil {
			break
		} else if !c.Pause(ctx, attempt) {
			t.Fatal(err)
		}
	}
	must(t, outlet.Close(ctx))
	for _, stream := range []string{c.WorkStream(), c.DoneStream(), "KV_" + c.ResultBucket(), "OBJ_" + c.GraphBucket()} {
		if n := replicasOf(t, c, stream); n != 3 {
			t.Errorf("%s has %d replicas, want 3", stream, n)
		}
	}

	log, lines := newLog()
	cfg := fastConfig(urls)
	cfg.Replicas, cfg.Logger = 5, log
	fifth := dial(t, cfg)
	again(t, c, fifth.ensureWorkStream) // it serves as it is
	if line := lines.wait(t, "a stream stays as it is"); !strings.Contains(line, `stream=RINGMASTER_WORK has="3 replicas" wanted="5 replicas"`) {
		t.Errorf("said: %s", line)
	}

	s.submit(t, "b1")
	receive(t, s.batches).settled(telemetry.OutcomeDone, nil)
	servers[leaderOfCurrent(t, c, c.WorkStream())].Kill()
	s.submit(t, "b2")
	if d := receive(t, s.batches); d.work.Batch != "b2" {
		t.Errorf("batch %s comes", d.work.Batch)
	} else {
		d.settled(telemetry.OutcomeDone, nil)
	}
}

func TestReplicasOfAServerAlone(t *testing.T) {
	url := newServer(t).URL()
	cfg := fastConfig(url)
	cfg.Replicas = 3
	err := dial(t, cfg).ensureWorkStream(testContext(t))
	if !tooFewServers(err) || !strings.Contains(err.Error(), "RINGMASTER_WORK: 3 replicas are wanted") {
		t.Errorf("error %v", err)
	}
	for _, n := range []int{0, 1} {
		cfg.Replicas = n
		c := dial(t, cfg)
		must(t, c.ensureWorkStream(testContext(t)))
		if n := replicasOf(t, c, c.WorkStream()); n != 1 {
			t.Errorf("%d replicas", n)
		}
	}
	cfg.Replicas = 6
	if _, err := Connect(cfg); err == nil || !strings.Contains(err.Error(), "replicas 6") {
		t.Errorf("six: %v", err)
	}
}
