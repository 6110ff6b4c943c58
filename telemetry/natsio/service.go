package natsio

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the name under which runtimes register.
const ServiceName = "ringmaster"

// What the service says of itself besides.
const (
	serviceDescription = "launch geometry for GPU work queues"
	statusEndpoint     = "status"
	statusGroup        = "q" // of several runtimes one answers
)

// Service is a registration that `nats service ls` and monitoring tools find: the
// protocol of the NATS micro services (ADR-32) with one endpoint. The library's own implementation
// answers discovery wherever a request says. Anybody who may ask could then have this process publish
// where only it may, on subjects of records and of JetStream too, so here requests are answered at
// inboxes alone.
type Service struct {
	conn     *Conn
	identity micro.ServiceIdentity
	status   func() any
	started  time.Time
	subs     []*nats.Subscription

	mu     sync.Mutex
	counts micro.EndpointStats
}

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// RegisterService makes the runtime visible as a NATS service. Its one
// endpoint, `<prefix>.status`, answers with status() as JSON, and so does the
// data field of the service's statistics. status is called concurrently.
// version has to be a semantic version; any other is shown as 0.0.0. A request
// without an inbox to answer to is not answered.
func (c *Conn) RegisterService(version string, metadata map[string]string, status func() any) (*Service, error) {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(version); m != nil {
		number = m[1]
	}
	if metadata == nil {
		metadata = map[string]string{} // as the library has it
	}
	s := &Service{
		conn: c, status: status, started: time.Now().UTC(),
		identity: micro.ServiceIdentity{Name: ServiceName, ID: rand.Text(), Version: number, Metadata: maps.Clone(metadata)},
		counts:   micro.EndpointStats{Name: statusEndpoint, Subject: c.prefix() + "." + statusEndpoint, QueueGroup: statusGroup},
	}
	if err := s.subscribe(); err != nil {
		_ = s.Stop() // the first error says more
		return nil, fmt.Errorf("natsio: register service: %w", err)
	}
	return s, nil
}

// subscribe begins to answer: discovery of all services, of all runtimes, and of this one.
func (s *Service) subscribe() error {
	for verb, value := range map[micro.Verb]func() any{micro.PingVerb: s.ping, micro.InfoVerb: s.info, micro.StatsVerb: s.stats} {
		for _, of := range [...][2]string{{"", ""}, {ServiceName, ""}, {ServiceName, s.identity.ID}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			if err != nil {
				return err
			}
			if err := s.answer(subject, "", value); err != nil {
				return err
			}
		}
	}
	return s.answer(s.counts.Subject, statusGroup, s.counted)
}

// answer has requests on a subject answered with a value as JSON.
func (s *Service) answer(subject, group string, value func() any) error {
	sub, err := s.conn.nc.QueueSubscribe(subject, group, func(m *nats.Msg) {
		if !s.conn.answerable(m.Reply) {
			return // nobody waits, or somebody borrows this connection's permissions
		}
		data, err := json.Marshal(value())
		if err != nil {
			s.conn.cfg.Logger.Error("natsio: the service's answer", "subject", m.Subject, "error", err)
			return // the requester times out
		}
		_ = s.conn.publish(m.Reply, data) // likewise
	})
	if err != nil {
		return fmt.Errorf("subscribe %s: %w", subject, err)
	}
	s.subs = append(s.subs, sub)
	return sub.SetPendingLimits(pendingRequests, pendingRequestBytes)
}

func (s *Service) ping() any {
	return micro.Ping{ServiceIdentity: s.identity, Type: micro.PingResponseType}
}

func (s *Service) info() any {
	return micro.Info{
		ServiceIdentity: s.identity, Type: micro.InfoResponseType, Description: serviceDescription,
		Endpoints: []micro.EndpointInfo{{Name: statusEndpoint, Subject: s.counts.Subject, QueueGroup: statusGroup}},
	}
}

func (s *Service) stats() any {
	s.mu.Lock()
	counts := s.counts
	s.mu.Unlock()
	if n := counts.NumRequests; n > 0 {
		counts.AverageProcessingTime = counts.ProcessingTime / time.Duration(n)
	}
	counts.Data, _ = json.Marshal(s.status()) // without it if that is no JSON
	return micro.Stats{
		ServiceIdentity: s.identity, Type: micro.StatsResponseType, Started: s.started,
		Endpoints: []*micro.EndpointStats{&counts},
	}
}

// counted is the status, and counts the request for it.
func (s *Service) counted() any {
	begin := time.Now()
	status := s.status()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.NumRequests++
	s.counts.ProcessingTime += time.Since(begin)
	return status
}

// ID is the unique id of this registration.
func (s *Service) ID() string { return s.identity.ID }

// Stop takes the registration back. What has arrived is still answered.
func (s *Service) Stop() error {
	var errs []error
	for _, sub := range s.subs {
		if err := sub.Drain(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
			errs = append(errs, fmt.Errorf("natsio: stop service: %s: %w", sub.Subject, err))
		}
	}
	return errors.Join(errs...)
}
