package workpath

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// patience bounds the wait for one done record.
const patience = 30 * time.Second

// side is one of the two that take turns: where its work goes and where it answers.
type side struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	prefix string
	done   chan time.Time // when an answer came
	number uint64         // of the last batch
}

// newSide subscribes to a worker's answers on all queues.
func newSide(url, prefix string) (*side, error) {
	nc, err := nats.Connect(url, nats.Name("submitter of "+prefix))
	if err != nil {
		return nil, err
	}
	s := &side{nc: nc, prefix: prefix, done: make(chan time.Time, 1<<10)}
	if s.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(1<<10)); err == nil {
		_, err = nc.Subscribe(prefix+".done."+workerName+".>", func(*nats.Msg) { s.done <- time.Now() })
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return s, nil
}

// send stores a batch under a name of its own, and does not wait for the stream.
func (s *side) send(b *batch, queue string) error {
	s.number++
	m := nats.NewMsg(s.prefix + ".work." + workerName + "." + queue)
	id := b.name(s.number)
	m.Header.Set(jetstream.MsgIDHeader, workerName+"."+queue+"."+id)
	m.Data = b.payload
	_, err := s.js.PublishMsgAsync(m)
	return err
}

// answer waits for one done record.
func (s *side) answer(ctx context.Context) (time.Time, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case at := <-s.done:
		return at, nil
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	case <-late.C:
		return time.Time{}, fmt.Errorf("%s: a batch has no done record after %v", s.prefix, patience)
	}
}

// alone sends n batches, each after the done record of its predecessor, and adds their times.
func (s *side) alone(ctx context.Context, b *batch, n int, into *[]time.Duration) error {
	for range n {
		begin := time.Now()
		if err := s.send(b, "q0"); err != nil {
			return err
		}
		end, err := s.answer(ctx)
		if err != nil {
			return err
		}
		*into = append(*into, end.Sub(begin))
	}
	return nil
}

// steady sends n batches at times that are fixed before, whatever becomes of them, and adds the times from when
// each was due. The k-th answer is taken for the k-th batch's: all are of one queue.
func (s *side) steady(ctx context.Context, b *batch, n int, period time.Duration, into *[]time.Duration) error {
	begin := time.Now().Add(period)
	failed := make(chan error, 1)
	go func() {
		for i := range n {
			time.Sleep(time.Until(begin.Add(time.Duration(i) * period)))
			if err := s.send(b, "q0"); err != nil {
				failed <- err
				return
			}
		}
		failed <- nil
	}()
	var err error
	for i := 0; i < n && err == nil; i++ {
		var end time.Time
		if end, err = s.answer(ctx); err == nil {
			*into = append(*into, end.Sub(begin.Add(time.Duration(i)*period)))
		}
	}
	return errors.Join(err, <-failed)
}

// flood keeps width batches under way, over some queues by turns, and returns batches per second.
func (s *side) flood(ctx context.Context, b *batch, queues, width, n int) (float64, error) {
	names := make([]string, queues)
	for i := range names {
		names[i] = fmt.Sprint("q", i)
	}
	begin := time.Now()
	sent := 0
	for ; sent < min(width, n); sent++ {
		if err := s.send(b, names[sent%queues]); err != nil {
			return 0, err
		}
	}
	for range n {
		if _, err := s.answer(ctx); err != nil {
			return 0, err
		}
		if sent == n {
			continue
		}
		if err := s.send(b, names[sent%queues]); err != nil {
			return 0, err
		}
		sent++
	}
	return float64(n) / time.Since(begin).Seconds(), nil
}
