package sharedconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"ringmaster/telemetry/complaint"
	"ringmaster/telemetry/natsio/configbucket"
)

// Following is where a process is with the key that it follows. Any goroutine may call it.
type Following struct {
	Copy
	mu      sync.Mutex
	taken   Text
	refused string // why a newer text is not taken, "" for none
}

// Follow begins with what was taken at the start, nothing for nothing.
func Follow(c Copy, taken Text) *Following { return &Following{Copy: c, taken: taken} }

// Offers are the texts that the bucket has from now on, other than the one that was taken last, until ctx ends.
func (f *Following) Offers(ctx context.Context, b *configbucket.Bucket, log *slog.Logger) <-chan Text {
	offers, complaints := make(chan Text), complaint.New(log)
	go b.Follow(ctx, f.Key, Every, func(e configbucket.Entry) {
		if f.had(e) {
			return
		}
		select {
		case offers <- Text{e.Revision, e.Text}:
		case <-ctx.Done():
		}
	}, func(err error) {
		level := slog.LevelWarn
		if errors.Is(err, configbucket.ErrNone) {
			level = slog.LevelInfo // and what was taken stays
		}
		complaints.Say(level, "the shared settings cannot be looked at, and those in use stay", "", "", "key", f.Key, "bucket", b.Name(), "error", err)
	})
	return offers
}

// had reports whether a text is the one that was taken, and nothing newer was refused since.
func (f *Following) had(e configbucket.Entry) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.refused == "" && f.taken.Revision == e.Revision && bytes.Equal(f.taken.Of, e.Text)
}

// Took has a text kept for the next start, or remembers why it is not taken: err, or what keeps it from being kept.
func (f *Following) Took(t Text, err error) error {
	if err == nil {
		if err = f.Write(t); err != nil {
			err = fmt.Errorf("%s, revision %d, cannot be kept for the next start: %w", f.Key, t.Revision, err)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil {
		f.refused = err.Error()
		return err
	}
	f.taken, f.refused = t, ""
	return nil
}

// Status is which revision is in use, 0 for none, and why a newer one is not, "" if there is none.
func (f *Following) Status() (revision uint64, refused string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.taken.Revision, f.refused
}
