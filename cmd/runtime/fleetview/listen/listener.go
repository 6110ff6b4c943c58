package listen

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

const (
	pollEvery = 2 * time.Second        // between two surveys of the runtimes and the stream of work
	pollFor   = time.Second            // how long answers are waited for
	firstFor  = 500 * time.Millisecond // how long the first recommendations are asked for
	firstMost = 512                    // queues that are asked for them
	firstAt   = 16                     // of these at a time
)

// Config says what is heard. The zero value hears everything, with the default limits.
type Config struct {
	Worker, Queue string // names, or "" for all
	Limits        fleetview.Limits
}

// Listener is a view that grows with what is heard. Its methods may be called by several goroutines.
type Listener struct {
	conn   *natsio.Conn
	cfg    Config
	stop   context.CancelFunc
	work   sync.WaitGroup
	advice *client.Subscriber
	subs   []*natsio.Subscription

	mu      sync.Mutex
	view    *fleetview.View
	refused map[string]error // what was asked for and may not be, by what for
}

// Dispensable are the subjects without which a Listener of the configuration works, knowing less.
func (c *Config) Dispensable(conn *natsio.Conn) []string {
	s, worker, queue := conn.Subjects(), c.worker(), c.queue()
	return []string{
		s.Telemetry(worker, "*"), s.Done(worker, queue), s.Rejected(worker, queue), s.RejectedInvalid(), s.Worker(worker),
		s.Snapshot(worker, queue), client.SurveySubject, client.StreamSubject(conn.WorkStream()), client.StreamSubject(s.Store() + "_DECIDED"),
	}
}

func (c *Config) worker() string { return orAny(c.Worker) }
func (c *Config) queue() string  { return orAny(c.Queue) }

func orAny(name string) string {
	if name == "" {
		return client.Any
	}
	return name
}

// Start begins to listen. The error is that of natsio.ErrBadName, or the client library's.
func Start(conn *natsio.Conn, cfg Config) (*Listener, error) {
	ctx, stop := context.WithCancel(context.Background())
	l := &Listener{conn: conn, cfg: cfg, stop: stop, view: fleetview.New(time.Now(), cfg.Limits), refused: make(map[string]error)}
	if err := l.subscribe(); err != nil {
		l.Close()
		return nil, err
	}
	l.work.Go(func() { l.hearAdvice(ctx) })
	l.work.Go(func() { l.first(ctx) })
	l.work.Go(func() { l.poll(ctx) })
	return l, nil
}

// subscribe subscribes everything; what is refused is known from the connection.
func (l *Listener) subscribe() (err error) {
	worker, queue := l.cfg.worker(), l.cfg.queue()
	if l.advice, err = client.NewSubscriber(l.conn, worker, queue, client.SubscriberConfig{Heartbeats: true}); err != nil {
		return err
	}
	for _, subscribe := range []func() (*natsio.Subscription, error){
		func() (*natsio.Subscription, error) {
			return l.conn.SubscribeTelemetry(worker, "*", func(worker, queue string, r *telemetry.Record) {
				if l.cfg.Queue == "" || l.cfg.Queue == queue {
					l.hear(func(now time.Time) { l.view.Telemetry(now, worker, queue, r) })
				}
			})
		},
		func() (*natsio.Subscription, error) {
			return l.conn.SubscribeWorkers(worker, func(worker string, _ *telemetry.Header, w *telemetry.Worker) {
				l.hear(func(now time.Time) { l.view.Worker(now, worker, w) })
			})
		},
		func() (*natsio.Subscription, error) {
			return l.conn.SubscribeDone(worker, queue, func(worker, queue string, _ *telemetry.Header, d *telemetry.Done) {
				l.hear(func(now time.Time) { l.view.Done(now, worker, queue, d) })
			})
		},
		func() (*natsio.Subscription, error) {
			return l.conn.SubscribeRejected(worker, queue, func(worker, queue string, _ *telemetry.Header, r *telemetry.Rejected) {
				l.hear(func(now time.Time) { l.view.Rejected(now, worker, queue, r) })
			})
		},
		func() (*natsio.Subscription, error) {
			return l.conn.SubscribeRejectedInvalid(func(_ *telemetry.Header, r *telemetry.Rejected) {
				l.hear(func(now time.Time) { l.view.Rejected(now, "", "", r) })
			})
		},
	} {
		sub, err := subscribe()
		if err != nil {
			return err
		}
		l.subs = append(l.subs, sub)
	}
	return nil
}

// hear folds something into the view.
func (l *Listener) hear(fold func(now time.Time)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fold(time.Now())
}

// hearAdvice folds recommendations until ctx or the connection ends. Their expiry the view sees by itself.
func (l *Listener) hearAdvice(ctx context.Context) {
	for {
		a, err := l.advice.Next(ctx)
		if err != nil {
			return
		}
		if a.Valid {
			l.hear(func(now time.Time) { l.view.Recommendation(now, a.Worker, a.Queue, &a.Header, &a.Recommendation) })
		}
	}
}

// first asks for the last recommendation of each queue that has decisions, so that nobody waits for the next one.
func (l *Listener) first(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstFor)
	defer cancel()
	queues, err := client.DecidedQueues(ctx, l.conn)
	if err != nil {
		return // they are repeated, and the next one comes soon
	}
	slices.SortFunc(queues, func(a, b client.QueueCount) int { return int(min(b.Messages, 1<<30)) - int(min(a.Messages, 1<<30)) })
	var asking sync.WaitGroup
	places := make(chan struct{}, firstAt)
	for _, q := range queues[:min(len(queues), firstMost)] {
		if !l.wanted(q) || ctx.Err() != nil {
			continue
		}
		places <- struct{}{}
		asking.Go(func() {
			defer func() { <-places }()
			if h, r, err := client.Snapshot(ctx, l.conn, q.Worker, q.Queue); err == nil {
				l.hear(func(now time.Time) { l.view.Recommendation(now, q.Worker, q.Queue, &h, &r) })
			} else if errors.Is(err, natsio.ErrNotPermitted) {
				cancel()
			}
		})
	}
	asking.Wait()
}

func (l *Listener) wanted(q client.QueueCount) bool {
	return (l.cfg.Worker == "" || l.cfg.Worker == q.Worker) && (l.cfg.Queue == "" || l.cfg.Queue == q.Queue)
}

// poll asks the runtimes and the stream of work now and then.
func (l *Listener) poll(ctx context.Context) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		l.ask(ctx)
		select {
		case <-ctx.Done():
			return
		case <-l.conn.Closed():
			return
		case <-tick.C:
		}
	}
}

func (l *Listener) ask(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, pollFor)
	defer cancel()
	var asking sync.WaitGroup
	asking.Go(func() {
		l.learn("runtimes", client.Survey(ctx, l.conn, func(r client.Runtime) {
			if status, err := fleetview.ParseStatus(r.Status); err == nil {
				said := fleetview.RuntimeSaid{ID: r.ID, Version: r.Version, Worker: r.Worker, Status: status}
				l.hear(func(now time.Time) { l.view.Runtime(now, said) })
			}
		}))
	})
	asking.Go(func() {
		counts, err := client.StoredBatches(ctx, l.conn)
		l.learn("batches that wait in the stream", err)
		if err != nil {
			return
		}
		var stored []fleetview.StoredBatches
		for _, q := range counts {
			if l.wanted(q) {
				stored = append(stored, fleetview.StoredBatches{Worker: q.Worker, Queue: q.Queue, Batches: q.Messages})
			}
		}
		l.hear(func(now time.Time) { l.view.Stored(now, stored) })
	})
	asking.Wait()
}

// learn remembers whether something may be asked for.
func (l *Listener) learn(what string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.refused, what)
	if errors.Is(err, natsio.ErrNotPermitted) {
		l.refused[what] = err
	}
}

// Look is what was heard, as rows.
func (l *Listener) Look() fleetview.Snapshot {
	unheard := l.unheard()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.view.Unheard(unheard)
	return l.view.Look(time.Now())
}

// Detail is what was heard of one queue; false if nothing was.
func (l *Listener) Detail(worker, queue string) (fleetview.Detail, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.Detail(time.Now(), worker, queue)
}

// unheard says what this user is not told.
func (l *Listener) unheard() (sentences []string) {
	denied := l.conn.Denied()
	s, worker, queue := l.conn.Subjects(), l.cfg.worker(), l.cfg.queue()
	for _, of := range []struct{ subject, what string }{
		{s.Recommend(worker, queue), "recommendations"}, {s.Telemetry(worker, "*"), "telemetry and launches"},
		{s.Done(worker, queue), "done records"}, {s.Rejected(worker, queue), "refusals"}, {s.Worker(worker), "announcements of workers"},
	} {
		if denied[of.subject] != nil {
			sentences = append(sentences, fmt.Sprintf("%s: this user may not subscribe %s", of.what, of.subject))
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, what := range []string{"runtimes", "batches that wait in the stream"} {
		if l.refused[what] != nil {
			sentences = append(sentences, what+": this user may not ask for them")
		}
	}
	return sentences
}

// Close listens no more.
func (l *Listener) Close() {
	l.stop()
	ended, cancel := context.WithCancel(context.Background())
	cancel() // what is on its way is ignored
	for _, sub := range l.subs {
		_ = sub.Stop(ended) // says that the context has ended
	}
	if l.advice != nil {
		l.advice.Close()
	}
	l.work.Wait()
}
