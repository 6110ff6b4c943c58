package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"ringmaster/ring"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// rotated is a server, and a client's context, whose certificates are replaced while both are in use.
type rotated struct {
	t      *testing.T
	server *server.Server
	files  map[string]string // "ca", "server", "server.key", "client", "client.key"
}

func newRotated(t *testing.T) *rotated {
	t.Helper()
	r := &rotated{t: t, files: map[string]string{}}
	dir := t.TempDir()
	for _, name := range []string{"ca", "server", "server.key", "client", "client.key"} {
		r.files[name] = filepath.Join(dir, name)
	}
	r.replace(nil, newAuthority(t))
	conf := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true }\njetstream { store_dir: %q }\n",
		r.files["server"], r.files["server.key"], r.files["ca"], t.TempDir())
	r.server = startConf(t, new(violations), conf)
	return r
}

// replace issues certificates by an authority. The one before is still trusted: others come with its certificates.
func (r *rotated) replace(before, now *authority) {
	r.t.Helper()
	var trusted []byte
	for _, a := range []*authority{before, now} {
		if a != nil {
			text, err := os.ReadFile(a.file)
			if err != nil {
				r.t.Fatal(err)
			}
			trusted = append(trusted, text...)
		}
	}
	put := func(name string, text []byte, err error) {
		if err == nil {
			err = os.WriteFile(r.files[name]+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(r.files[name]+".new", r.files[name])
		}
		if err != nil {
			r.t.Fatal(err)
		}
	}
	put("ca", trusted, nil)
	for name, host := range map[string]string{"server": "localhost", "client": "client"} {
		cert, key := now.issue(host, time.Hour)
		text, err := os.ReadFile(cert)
		put(name, text, err)
		text, err = os.ReadFile(key)
		put(name+".key", text, err)
	}
}

// rotate replaces all certificates, has the server read them, and ends every connection.
func (r *rotated) rotate(before, now *authority) {
	r.t.Helper()
	r.replace(before, now)
	if err := r.server.Reload(); err != nil {
		r.t.Fatal(err)
	}
	list, err := r.server.Connz(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, c := range list.Conns {
		_ = r.server.DisconnectClientByID(c.Cid) // one may have gone
	}
}

func (r *rotated) connect() *natsio.Conn {
	r.t.Helper()
	cfg := natsio.DefaultConfig()
	url := fmt.Sprintf("tls://localhost:%d", r.server.Addr().(*net.TCPAddr).Port)
	cfg.Context = natsContext(r.t, map[string]string{"url": url, "ca": r.files["ca"], "cert": r.files["client"], "key": r.files["client.key"]})
	conn, err := natsio.Connect(cfg)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(conn.Close)
	return conn
}

// While the certificates of a server and its clients, and the authority behind them, are replaced three times, every
// batch is stored once, and of every queue the newest record arrives.
func TestNothingIsLostWhenCertificatesAreRotated(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const queues, rotations, perRotation = 20, 3, 100
	r := newRotated(t)
	from, to := r.connect(), r.connect()
	var mu sync.Mutex
	newest, news := map[string]uint32{}, make(chan struct{}, 1)
	if _, err := to.SubscribeTelemetry("w1", "*", func(_, queue string, r *telemetry.Record) {
		if r.Kind != telemetry.KindGraph {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		newest[queue] = r.Graph.NodeCount
		select {
		case news <- struct{}{}:
		default: // the last news have not been looked at yet
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := from.EnsureWorkStream(ctx); err != nil {
		t.Fatal(err)
	}
	publisher, err := client.NewPublisher(from, client.PublisherConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer publisher.Close(ctx)
	work := client.NewWorkPublisher(from, 16)
	stored := make(chan error, rotations*perRotation)
	sent := uint32(0)
	old := newAuthority(t)
	r.rotate(nil, old)
	for range rotations {
		next := newAuthority(t)
		for i := range perRotation {
			sent++
			for q := range queues {
				g := telemetry.Graph{Has: telemetry.HasNodeCount, NodeCount: sent}
				if err := publisher.ReportGraph("w1", fmt.Sprint("q", q), &g); err != nil {
					t.Fatal(err)
				}
			}
			batch := telemetry.Work{Has: telemetry.HasBatch | telemetry.HasSlots, Batch: fmt.Sprint("b", sent), Slots: []ring.Slot{{}}}
			if err := work.Publish(ctx, "w1", "q", telemetry.Header{Incarnation: 7, Seq: uint64(sent), SentNs: 1}, &batch, func(_ bool, err error) { stored <- err }); err != nil {
				t.Fatal(err)
			}
			if i == perRotation/2 {
				r.rotate(old, next)
			}
		}
		old = next
	}
	for range cap(stored) {
		if err := <-stored; err != nil {
			t.Errorf("a batch is not stored: %v", err)
		}
	}
	if err := publisher.Flush(ctx); err != nil {
		t.Fatal(err)
	}
	stream, err := from.JetStream().Stream(ctx, from.WorkStream())
	if err != nil {
		t.Fatal(err)
	}
	if info := stream.CachedInfo(); info.State.Msgs != rotations*perRotation {
		t.Errorf("%d batches are stored, want %d", info.State.Msgs, rotations*perRotation)
	}
	arrived := func() bool {
		mu.Lock()
		defer mu.Unlock()
		for q := range queues {
			if newest[fmt.Sprint("q", q)] != sent {
				return false
			}
		}
		return true
	}
	for !arrived() {
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatalf("the newest records are not there: want %d", sent)
		}
	}
}
