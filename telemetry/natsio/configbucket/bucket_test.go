package configbucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var must = natstest.Must

func onServer(t testing.TB) *Bucket {
	t.Helper()
	return On(bustest.Dial(t, bustest.Server(t).URL()), telemetry.Subjects{Prefix: telemetry.DefaultPrefix})
}

func TestAKeyKeepsItsHistory(t *testing.T) {
	b, ctx := onServer(t), t.Context()
	if _, err := b.Get(ctx, "fleet", 0); !errors.Is(err, ErrNone) {
		t.Errorf("without a bucket: %v", err)
	}
	for i := range Kept + 6 {
		if _, err := b.Put(ctx, "fleet", fmt.Appendf(nil, "rate = %d\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	other, err := b.Put(ctx, "canary", nil)
	must(t, err)
	all, err := b.History(ctx, "fleet")
	must(t, err)
	if len(all) != Kept || string(all[0].Text) != "rate = 6\n" || string(all[Kept-1].Text) != "rate = 69\n" {
		t.Errorf("%d texts from %q to %q", len(all), all[0].Text, all[len(all)-1].Text)
	}
	if got, err := b.Get(ctx, "fleet", 0); err != nil || !got.same(all[Kept-1]) {
		t.Errorf("newest: %+v, %v", got, err)
	}
	if got, err := b.Get(ctx, "fleet", all[3].Revision); err != nil || !got.same(all[3]) {
		t.Errorf("revision %d: %+v, %v", all[3].Revision, got, err)
	}
	if got, err := b.Get(ctx, "canary", 0); err != nil || len(got.Text) != 0 || got.Revision != other {
		t.Errorf("an empty text: %+v, %v", got, err)
	}
	for _, revision := range []uint64{1, other, other + 1} {
		if _, err := b.Get(ctx, "fleet", revision); !errors.Is(err, ErrNone) {
			t.Errorf("revision %d: %v", revision, err)
		}
	}
}

func TestWhatCannotBeStoredIsRefused(t *testing.T) {
	b, ctx := onServer(t), t.Context()
	for _, key := range []string{"", "a.b", "a b", "*", ">", strings.Repeat("k", 65)} {
		_, put := b.Put(ctx, key, nil)
		_, get := b.Get(ctx, key, 0)
		_, history := b.History(ctx, key)
		if !errors.Is(put, ErrKey) || !errors.Is(get, ErrKey) || !errors.Is(history, ErrKey) {
			t.Errorf("key %q: %v, %v, %v", key, put, get, history)
		}
	}
	if _, err := b.Put(ctx, "fleet", make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "at most 65536") {
		t.Errorf("a long text: %v", err)
	}
	_, err := b.Put(ctx, "fleet", bytes.Repeat([]byte{'#'}, MaxBytes))
	must(t, err)
}

// A text that somebody removes is as good as none: who follows the key is offered nothing.
func TestAFollowerIsOfferedEachTextOnce(t *testing.T) {
	b := onServer(t)
	_, err := b.Put(t.Context(), "fleet", []byte("one"))
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	offers, failures, ended := make(chan Entry), make(chan error, 1), make(chan struct{})
	go func() {
		defer close(ended)
		b.Follow(ctx, "fleet", time.Millisecond, func(e Entry) { offers <- e }, func(err error) {
			select {
			case failures <- err:
			default:
			}
		})
	}()
	next := func(want string) {
		t.Helper()
		if got := <-offers; string(got.Text) != want {
			t.Errorf("offered %q, want %q", got.Text, want)
		}
	}
	next("one")
	_, err = b.Put(t.Context(), "canary", []byte("of another"))
	must(t, err)
	_, err = b.Put(t.Context(), "fleet", []byte("two"))
	must(t, err)
	next("two")
	must(t, b.conn.JetStream().DeleteKeyValue(t.Context(), b.name))
	if err := <-failures; !errors.Is(err, ErrNone) {
		t.Errorf("without its bucket: %v", err)
	}
	_, err = b.Put(t.Context(), "fleet", []byte("three")) // which has the number of the first one again
	must(t, err)
	next("three")
	cancel()
	<-ended
}
