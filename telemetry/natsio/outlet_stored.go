package natsio

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookEvery is how long a stream over done subjects may go unnoticed.
	lookEvery = 10 * time.Second
	// lookPatience bounds a look, which done records wait for.
	lookPatience = time.Second
	// lookPause is the time between looks where the last one failed.
	lookPause = time.Minute
	// storedAtOnce is how many done records wait for the answers of a stream.
	storedAtOnce = 1024
	// doneStreamAge and doneStreamBytes bound the stream that DoneStream makes.
	doneStreamAge   = 24 * time.Hour
	doneStreamBytes = 256 << 20
)

// keepers knows which done subjects have a stream. One goroutine uses it.
type keepers struct {
	subjects   []string // of streams, wildcards included
	next       time.Time
	reconnects uint64
}

// DoneStream returns the name of the stream of done records that
// OutletConfig.DoneStream makes.
func (c *Conn) DoneStream() string { return strings.TrimSuffix(c.WorkStream(), "_WORK") + "_DONE" }

func (c *Conn) doneSubjects() string { return c.cfg.Subjects.Done("*", "*") }

func (c *Conn) doneStream() jetstream.StreamConfig {
	storage := jetstream.FileStorage
	if c.cfg.WorkStream.Memory {
		storage = jetstream.MemoryStorage
	}
	return jetstream.StreamConfig{
		Name: c.DoneStream(), Description: "what became of batches",
		Subjects: []string{c.doneSubjects()}, Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardOld,
		Storage: storage, Replicas: c.cfg.WorkStream.Replicas, MaxBytes: doneStreamBytes, MaxAge: doneStreamAge,
	}
}

// look finds out which done subjects have a stream, from time to time and after each
// reconnect. Where that fails, what was known holds: a server without JetStream has
// none. Only if a stream was asked for is its absence an error.
func (p *Outlet) look(now time.Time) error {
	k, c := &p.keepers, p.conn
	reconnects := c.nc.Stats().Reconnects
	wanted := p.cfg.DoneStream && !subjectsMatch(k.subjects, c.doneSubjects())
	if now.Before(k.next) && k.reconnects == reconnects && !wanted {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookPatience)
	defer cancel()
	k.next, k.reconnects = now.Add(lookEvery), reconnects
	list := c.js.ListStreams(ctx, jetstream.WithStreamListSubject(c.doneSubjects()))
	var subjects []string
	for info := range list.Info() {
		subjects = append(subjects, info.Config.Subjects...)
	}
	if err := list.Err(); err != nil {
		k.next = now.Add(lookPause)
		if wanted {
			return fmt.Errorf("natsio: look for streams of done records: %w", err)
		}
		return nil
	}
	k.subjects = subjects
	if !p.cfg.DoneStream || subjectsMatch(subjects, c.doneSubjects()) {
		return nil
	}
	if err := c.ensureStream(ctx, c.doneStream()); err != nil {
		c.cfg.Logger.Warn("nats: no work is acknowledged, as done records cannot be kept", "stream", c.DoneStream(), "error", err)
		return err
	}
	k.subjects = append(k.subjects, c.doneSubjects())
	return nil
}

// stored reports whether a stream keeps what is published on a subject.
func (k *keepers) stored(subject string) bool {
	return subjectsMatch(k.subjects, subject)
}

func subjectsMatch(patterns []string, subject string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return subjectMatches(pattern, subject) })
}

// subjectMatches reports whether a subject is one of those that a pattern stands for.
func subjectMatches(pattern, subject string) bool {
	for {
		p, pattern2, morePattern := strings.Cut(pattern, ".")
		s, subject2, moreSubject := strings.Cut(subject, ".")
		switch {
		case p == ">":
			return true
		case p != "*" && p != s || morePattern != moreSubject:
			return false
		case !morePattern:
			return true
		}
		pattern, subject = pattern2, subject2
	}
}

// store publishes letters whose subjects have a stream, and returns nil if all are
// in one.
func (p *Outlet) store(letters []letter) error {
	for part := range slices.Chunk(letters, storedAtOnce) {
		if !p.conn.nc.IsConnected() {
			return ErrDisconnected
		}
		futures := make([]jetstream.PubAckFuture, 0, len(part))
		for i := range part {
			f, err := p.conn.js.PublishMsgAsync(&nats.Msg{Subject: part[i].subject, Data: part[i].payload}, ownRetries)
			if err != nil {
				return fmt.Errorf("natsio: store done record: %w", err)
			}
			futures = append(futures, f)
		}
		timeout := time.After(p.cfg.ConfirmTimeout)
		for _, f := range futures {
			select {
			case <-f.Ok():
			case err := <-f.Err():
				return fmt.Errorf("%w: %w", ErrUnconfirmed, err)
			case <-timeout:
				return ErrUnconfirmed
			}
		}
	}
	return nil
}
