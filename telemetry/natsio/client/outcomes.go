package client

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// maxOutcomes bounds the done records, and the refusals, that wait to be fetched. Beyond
// it new ones are ignored.
const maxOutcomes = 1 << 14

// Outcomes collects what becomes of batches of one queue. Make it before PublishWork: it hears
// what is published from then on. What is published while the connection is lost it hears
// afterwards, and what is missed on a connection that lives while somebody waits for it, where a
// stream keeps done records; refusals are not kept.
type Outcomes struct {
	conn           *natsio.Conn
	worker, queue  string
	mine           func(batch string) bool
	work           string // subject of the queue's batches
	done, rejected *natsio.Subscription
	news           chan struct{}
	quiet          time.Duration      // quietPeriod
	overdue        chan []string      // batches that nothing was heard of for so long
	stop           context.CancelFunc // of rehear
	rehearing      sync.WaitGroup

	mu      sync.Mutex
	ended   map[string]*telemetry.Done // by batch, until fetched
	refused []telemetry.Rejected
}

// FollowOutcomes begins to collect the done records of the batches that mine accepts, and
// every refusal of work of the queue. mine may be called by two goroutines. The error wraps
// natsio.ErrBadName, natsio.ErrNotPermitted if the user may not hear either, or ctx's if the server does not confirm
// until it ends; without a connection it wraps natsio.ErrDisconnected.
func FollowOutcomes(ctx context.Context, conn *natsio.Conn, worker, queue string, mine func(batch string) bool) (*Outcomes, error) {
	if err := natsio.CheckTaker(worker, queue); err != nil {
		return nil, err
	}
	o := &Outcomes{
		conn: conn, worker: worker, queue: queue, mine: mine, work: conn.Subjects().Work(worker, queue), news: make(chan struct{}, 1),
		quiet: quietPeriod, overdue: make(chan []string, 1), ended: make(map[string]*telemetry.Done),
	}
	following, stop := context.WithCancel(context.Background())
	o.stop = stop
	o.rehearing.Go(func() { o.rehear(following) })
	var err error
	o.done, err = conn.SubscribeDone(worker, queue, func(_, _ string, _ *telemetry.Header, d *telemetry.Done) { o.hear(d) })
	if err == nil {
		o.rejected, err = conn.SubscribeRejected(worker, queue, func(_, _ string, _ *telemetry.Header, r *telemetry.Rejected) {
			if r.Subject == o.work {
				o.refuse(r)
			}
		})
	}
	if err == nil {
		err = conn.Flush(ctx)
	}
	if err == nil {
		denied := conn.Denied()
		err = cmp.Or(denied[conn.Subjects().Done(worker, queue)], denied[conn.Subjects().Rejected(worker, queue)])
	}
	if err != nil {
		o.Close()
		return nil, fmt.Errorf("follow outcomes of %s.%s: %w", worker, queue, err)
	}
	return o, nil
}

// Kept collects the done records of batches that ended before, from a time on, where a stream keeps them. Without the
// stream, or without the right to read it, the error says so, and nothing is lost but what it would have told.
func (o *Outcomes) Kept(ctx context.Context, from time.Time) error {
	if err := hearKept(ctx, o.conn, o.worker, o.queue, from, o.hear); err != nil {
		return fmt.Errorf("done records of %s.%s that were kept: %w", o.worker, o.queue, err)
	}
	return nil
}

// Has reports whether a batch has a done record that Wait will tell.
func (o *Outcomes) Has(batch string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.ended[batch] != nil
}

// hear takes the done record of a batch of ours.
func (o *Outcomes) hear(d *telemetry.Done) {
	if o.mine(d.Batch) {
		o.take(d)
	}
}

// Wait returns when every batch has a done record. done is called with each as it comes,
// once a batch; its error ends the wait. If a batch without a done record is refused, the
// error wraps natsio.ErrRefused and says why. Of refusals that name none of the batches,
// which may concern somebody else, other is told. After 15 s without one of the done records they
// are looked for in the stream that keeps them, again and again. If ctx ends first the error wraps its.
func (o *Outcomes) Wait(ctx context.Context, batches []string, done func(*telemetry.Done) error, other func(*telemetry.Rejected)) error {
	left := slices.Clone(batches)
	quiet := time.NewTimer(o.quiet)
	defer quiet.Stop()
	for {
		ended, refused := o.fetch(left)
		if len(ended) > 0 {
			quiet.Reset(o.quiet)
		}
		for _, d := range ended {
			left = slices.DeleteFunc(left, func(batch string) bool { return batch == d.Batch })
			if err := done(d); err != nil {
				return err
			}
		}
		for i := range refused {
			r := &refused[i]
			names := func(batch string) bool { return strings.Contains(r.Detail, fmt.Sprintf("batch %q", batch)) }
			if at := slices.IndexFunc(left, names); at >= 0 {
				return fmt.Errorf("batch %s was %w (%s): %s", left[at], natsio.ErrRefused, r.Reason, r.Detail)
			}
			if !slices.ContainsFunc(batches, names) {
				other(r)
			}
		}
		if len(left) == 0 {
			return nil
		}
		select {
		case <-o.news:
		case <-quiet.C:
			quiet.Reset(o.quiet)
			select {
			case o.overdue <- slices.Clone(left):
			default: // the stream is being read
			}
		case <-ctx.Done():
			return fmt.Errorf("%d batches without a done record, %s the first: %w", len(left), left[0], ctx.Err())
		}
	}
}

// Close collects nothing more.
func (o *Outcomes) Close() {
	o.stop()
	o.rehearing.Wait()
	ended, cancel := context.WithCancel(context.Background())
	cancel() // what is on its way is ignored
	for _, sub := range []*natsio.Subscription{o.done, o.rejected} {
		if sub != nil {
			_ = sub.Stop(ended) // says that the context has ended
		}
	}
}

// take keeps a copy of a done record, whose memory is used for the next one. A record may
// come twice.
func (o *Outcomes) take(d *telemetry.Done) {
	kept := *d
	kept.Faults, kept.Results, kept.Prints = slices.Clone(d.Faults), slices.Clone(d.Results), slices.Clone(d.Prints)
	o.mu.Lock()
	if len(o.ended) < maxOutcomes {
		o.ended[d.Batch] = &kept
	}
	o.mu.Unlock()
	o.tell()
}

func (o *Outcomes) refuse(r *telemetry.Rejected) {
	o.mu.Lock()
	if len(o.refused) < maxOutcomes {
		o.refused = append(o.refused, *r)
	}
	o.mu.Unlock()
	o.tell()
}

func (o *Outcomes) tell() {
	select {
	case o.news <- struct{}{}:
	default: // Wait has not seen the last one yet
	}
}

// fetch takes the done records of batches that have ended, and all refusals.
func (o *Outcomes) fetch(batches []string) (ended []*telemetry.Done, refused []telemetry.Rejected) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, batch := range batches {
		if d := o.ended[batch]; d != nil {
			ended = append(ended, d)
			delete(o.ended, batch)
		}
	}
	refused, o.refused = o.refused, nil
	return ended, refused
}
