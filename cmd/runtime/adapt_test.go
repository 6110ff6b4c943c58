package main

import (
	"context"
	"encoding/hex"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// fpmEngine is a PUB socket that sends one iteration again and again: of worker "any", with
// 7 requests that wait for prefill and 2 for decode.
func fpmEngine(t *testing.T) (endpoint string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	counts := "\x82\xb4num_prefill_requests\x07\xb3num_decode_requests\x02"
	payload := "\x85\xa9worker_id\xa3any\xa7dp_rank\x00\xa9wall_time\x01\xb2scheduled_requests" + counts + "\xafqueued_requests" + counts
	greeting, _ := hex.DecodeString("ff00000000000000017f0300" + hex.EncodeToString([]byte("NULL")) + strings.Repeat("00", 48))
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go io.Copy(io.Discard, conn)
			_, err = io.WriteString(conn, string(greeting)+"\x04\x19\x05READY\x0bSocket-Type\x00\x00\x00\x03PUB")
			for n := byte(0); err == nil; n++ {
				_, err = io.WriteString(conn, "\x01\x00\x01\x08\x00\x00\x00\x00\x00\x00\x00"+string([]byte{n})+"\x00"+string([]byte{byte(len(payload))})+payload)
				time.Sleep(time.Millisecond)
			}
		}
	}()
	return "tcp://" + listener.Addr().String()
}

func TestAnEnginesQueuesAreDecidedFor(t *testing.T) {
	s := serve(t, "--decide-only")
	announce(t, s.url)
	ctx, cancel := context.WithCancel(t.Context())
	adapted := make(chan outcome, 1)
	endpoint := fpmEngine(t)
	go func() { adapted <- ringmaster(t, ctx, "", "adapt", "fpm", "--nats", s.url, "w1="+endpoint) }()
	for _, queue := range []string{"dp0-prefill", "dp0-decode"} {
		got := ringmaster(t, t.Context(), "", "watch", "--nats", s.url, "--json", "--count", "1", "--queue", queue)
		if got.code != 0 || !strings.Contains(got.stdout, `"workgroup_size_x":`) {
			t.Errorf("%s: exit code %d: %s%s", queue, got.code, got.stdout, got.err)
		}
	}
	cancel()
	if got := <-adapted; got.code != 0 || !strings.Contains(got.err, "ITERATIONS") || !strings.Contains(got.err, endpoint) {
		t.Errorf("exit code %d: %s", got.code, got.err)
	}
	if code := s.stop(); code != 0 {
		t.Errorf("run ended with exit code %d", code)
	}
}

func TestAdaptUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"fpm"}, {"fpm", "host:1"}, {"fpm", "a.b=tcp://h:1"}, {"fpm", "tcp://h:1", "--silent", "10ms"}} {
		if got := ringmaster(t, t.Context(), "", append([]string{"adapt"}, args...)...); got.code != 2 || got.err == "" {
			t.Errorf("%v: exit code %d, %q", args, got.code, got.err)
		}
	}
}
