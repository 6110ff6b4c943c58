package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// StoredBatch is a batch that is in the stream of work: it waits, or a worker has it.
type StoredBatch struct {
	Sequence   uint64    // in the stream
	At         time.Time // stored, by the server's clock
	Slots      int
	Ahead      int  // batches of its queue that were stored before it and are still there
	AheadSlots int  // of those
	HandedOut  bool // the server has given it to who takes the queue's batches
}

// FindBatch looks for a batch of a queue in the stream of work, where telemetry.Pool of a pool may stand for the
// worker; of several of that name it finds the one that runs first. It reads the batches of the queue up to it, of which
// there are natsio.MaxQueueBatches at most. Nil says that it is not there. The error wraps natsio.ErrBadName,
// ctx's error or, where nobody ever served, one that NoStream knows.
func FindBatch(ctx context.Context, conn *natsio.Conn, worker, queue, batch string) (*StoredBatch, error) {
	if err := natsio.CheckTaker(worker, queue); err != nil {
		return nil, err
	}
	if !telemetry.ValidToken(batch) {
		return nil, natsio.BadName("batch", batch)
	}
	stream, err := conn.JetStream().Stream(ctx, conn.WorkStream())
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", conn.WorkStream(), err)
	}
	found, err := findStored(ctx, stream, conn.Subjects().Work(worker, queue), batch)
	if err != nil || found == nil {
		return nil, err
	}
	consumer, err := stream.Consumer(ctx, natsio.ConsumerName(worker, queue))
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return found, nil
	case err != nil:
		return nil, fmt.Errorf("who takes batches of %s.%s: %w", worker, queue, err)
	}
	found.HandedOut = consumer.CachedInfo().Delivered.Stream >= found.Sequence
	return found, nil
}

// findStored walks through the batches on a subject, oldest first.
func findStored(ctx context.Context, stream jetstream.Stream, subject, batch string) (*StoredBatch, error) {
	var found StoredBatch
	var decoder telemetry.Decoder
	var record telemetry.Record
	for {
		m, err := stream.GetMsg(ctx, found.Sequence+1, jetstream.WithGetMsgSubject(subject))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil, nil
		case err != nil:
			return nil, fmt.Errorf("read batches: %w", err)
		}
		found.Sequence, found.At = m.Sequence, m.Time
		slots, is := 0, false
		if _, err := telemetry.Check(m.Data, telemetry.DefaultWorkLimits); err == nil {
			decoder.Reset(m.Data)
			if err := decoder.Next(&record); (err == nil || errors.Is(err, io.EOF)) && record.Kind == telemetry.KindWork {
				slots, is = record.Work.Count(), record.Work.Batch == batch
			}
		}
		if is {
			found.Slots = slots
			return &found, nil
		}
		found.Ahead++
		found.AheadSlots += slots
	}
}

// NoStream reports whether an error says that the server has no such stream: nobody has used it yet.
func NoStream(err error) bool { return errors.Is(err, jetstream.ErrStreamNotFound) }

// FindDone returns the newest kept done record of a batch without its lists, and when it was stored; nil if none
// is kept. The error wraps ctx's, or NoStream knows it, where none are kept at all.
func FindDone(ctx context.Context, conn *natsio.Conn, worker, queue, batch string) (found *telemetry.Done, at time.Time, err error) {
	err = readKept(ctx, conn, worker, queue, jetstream.ConsumerConfig{
		Description: "a look for one batch", DeliverPolicy: jetstream.DeliverAllPolicy,
	}, func(stored time.Time, d *telemetry.Done) {
		if d.Batch == batch {
			at, found = stored, &telemetry.Done{
				Batch: batch, Executed: d.Executed, Faulted: d.Faulted, Dropped: d.Dropped, Error: d.Error, WorkSentNs: d.WorkSentNs,
			}
		}
	})
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("stream %s: %w", conn.DoneStream(), err)
	}
	return found, at, nil
}

// Past is how far back the streams tell what became of a queue's batches.
type Past struct {
	Submitted uint64        // batches that the stream of work has taken since it was made, of all queues
	Kept      bool          // a stream keeps done records
	Since     time.Time     // a batch that was submitted since, and is over, has its done record; zero where none are kept
	Made      bool          // that is when the streams were made: nothing was removed
	MaxAge    time.Duration // after which a done record is removed, 0 for never
	PerQueue  int64         // records of a queue beyond which the oldest is removed, 0 or less for no bound
}

// LookBack asks how far back the streams tell of a queue's batches. It reads every done record of the queue that is
// kept. The error wraps ctx's.
func LookBack(ctx context.Context, conn *natsio.Conn, worker, queue string) (p Past, err error) {
	work, err := conn.JetStream().Stream(ctx, conn.WorkStream())
	switch {
	case NoStream(err):
		return p, nil
	case err != nil:
		return p, fmt.Errorf("stream %s: %w", conn.WorkStream(), err)
	}
	p.Submitted = work.CachedInfo().State.LastSeq
	count, oldest := int64(0), time.Time{}
	err = readKept(ctx, conn, worker, queue, jetstream.ConsumerConfig{
		Description: "how far back done records go", DeliverPolicy: jetstream.DeliverAllPolicy,
	}, func(stored time.Time, _ *telemetry.Done) {
		if count++; count == 1 {
			oldest = stored
		}
	})
	if NoStream(err) {
		return p, nil
	}
	var done jetstream.Stream
	if err == nil { // after the reading: what is removed meanwhile was read
		done, err = conn.JetStream().Stream(ctx, conn.DoneStream())
	}
	if err != nil {
		return p, fmt.Errorf("stream %s: %w", conn.DoneStream(), err)
	}
	p.reach(time.Now(), work.CachedInfo(), done.CachedInfo(), count, oldest)
	return p, nil
}

// reach finds since when the past is whole, from the streams of work and of done records, and from how many records of
// the queue are kept and when the oldest was stored.
func (p *Past) reach(now time.Time, work, done *jetstream.StreamInfo, count int64, oldest time.Time) {
	p.Kept, p.Since, p.Made, p.MaxAge, p.PerQueue = true, done.Created, true, done.Config.MaxAge, done.Config.MaxMsgsPerSubject
	from := func(at time.Time) {
		if at.After(p.Since) {
			p.Since, p.Made = at, false
		}
	}
	switch s := &done.State; {
	case s.FirstSeq <= 1: // nothing was removed at the front
	case s.Msgs == 0:
		from(s.LastTime)
	default:
		from(s.FirstTime)
	}
	if p.PerQueue > 0 && count >= p.PerQueue {
		from(oldest)
	}
	if work.Config.MaxAge > 0 { // what nobody took is removed without a done record
		from(now.Add(-work.Config.MaxAge))
	}
}
