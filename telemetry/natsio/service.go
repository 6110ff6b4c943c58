package natsio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"ringmaster/telemetry"
)

// ServiceName is the name under which runtimes register.
const ServiceName = "ringmaster"

// Names of the endpoint that every service has. Of several runtimes in the group one answers.
const (
	statusEndpoint = "status"
	statusGroup    = "q"
)

// Service is a registration that `nats service ls` and monitoring tools find. It speaks the protocol of
// NATS services itself, because the library's services answer at any reply subject.
type Service struct {
	conn     *Conn
	identity micro.ServiceIdentity
	started  time.Time
	status   func() any
	asked    atomic.Int64 // requests for the status
	subs     []*nats.Subscription

	queues    []*QueueEndpoint
	answering sync.WaitGroup
	places    chan struct{}
}

// QueueEndpoint answers requests about one queue, on `<prefix>.<name>.<worker>.<queue>`, with JSON. Of several runtimes
// one answers.
type QueueEndpoint struct {
	Name   string
	Schema string // JSON schema of the answer, in the endpoint's metadata
	// Answer is called concurrently, by a few requests at a time; others are refused meanwhile. Its error is the answer.
	Answer func(ctx context.Context, worker, queue string) (any, error)

	asked atomic.Int64
}

const (
	answersAtOnce = 2 // of queue endpoints: one may read a thousand decisions
	answerWithin  = 5 * time.Second
)

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// RegisterService makes the runtime visible as a NATS service. Beside those
// given, its endpoint `<prefix>.status` answers with status() as JSON, and so does the
// data field of the service's statistics; of several runtimes one answers.
// status is called concurrently. version has to be a semantic version; any other is
// shown as 0.0.0. A request without an inbox to answer to is not answered.
func (c *Conn) RegisterService(version string, metadata map[string]string, status func() any, queues ...*QueueEndpoint) (*Service, error) {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(version); m != nil {
		number = m[1]
	}
	if metadata == nil {
		metadata = map[string]string{}
	}
	s := &Service{
		conn: c, started: time.Now().UTC(), status: status, queues: queues, places: make(chan struct{}, answersAtOnce),
		identity: micro.ServiceIdentity{Name: ServiceName, ID: fmt.Sprintf("%016x", c.cfg.Incarnation), Version: number, Metadata: metadata},
	}
	err := s.subscribe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("register service: %w", err), s.Stop())
	}
	return s, nil
}

// subscribe begins to answer: each verb to all services, to those of the name, and to this one.
func (s *Service) subscribe() error {
	add := func(sub *nats.Subscription, err error) error {
		if err == nil {
			s.subs = append(s.subs, sub)
		}
		return err
	}
	for verb, value := range map[micro.Verb]func() any{micro.PingVerb: s.ping, micro.InfoVerb: s.info, micro.StatsVerb: s.stats} {
		for _, of := range [][2]string{{"", ""}, {ServiceName, ""}, {ServiceName, s.identity.ID}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			if err != nil {
				return err
			}
			if err := add(s.conn.nc.Subscribe(subject, s.answer(value))); err != nil {
				return err
			}
		}
	}
	for _, e := range s.queues {
		if err := add(s.conn.nc.QueueSubscribe(s.pattern(e), statusGroup, func(m *nats.Msg) { s.ask(e, m) })); err != nil {
			return err
		}
	}
	return add(s.conn.nc.QueueSubscribe(s.subject(), statusGroup, s.answer(func() any {
		s.asked.Add(1)
		return s.status()
	})))
}

func (s *Service) pattern(e *QueueEndpoint) string { return s.conn.prefix() + "." + e.Name + ".*.*" }

// ask answers a request about a queue.
func (s *Service) ask(e *QueueEndpoint, m *nats.Msg) {
	if !s.conn.MayAnswer(m) {
		return
	}
	worker, queue, _ := strings.Cut(strings.TrimPrefix(m.Subject, s.conn.prefix()+"."+e.Name+"."), ".")
	if err := CheckNames(worker, queue); err != nil {
		s.conn.refuse(m.Reply, telemetry.SubjectSnapshot, fmt.Errorf("%w: %w", ErrRequest, err))
		return
	}
	select {
	case s.places <- struct{}{}:
	default:
		s.conn.refuse(m.Reply, telemetry.SubjectSnapshot, ErrTooMany)
		return
	}
	e.asked.Add(1)
	s.answering.Go(func() {
		defer func() { <-s.places }()
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		value, err := e.Answer(ctx, worker, queue)
		var text []byte
		if err == nil {
			text, err = json.Marshal(value)
		}
		if err != nil {
			s.conn.refuse(m.Reply, telemetry.SubjectSnapshot, err)
			return
		}
		_ = s.conn.publish(m.Reply, text) // else the requester times out
	})
}

func (s *Service) subject() string { return s.conn.prefix() + "." + statusEndpoint }

// answer is the handler of requests for a value.
func (s *Service) answer(value func() any) nats.MsgHandler {
	return func(m *nats.Msg) {
		if !s.conn.MayAnswer(m) {
			return
		}
		if text, err := json.Marshal(value()); err == nil { // else the requester times out
			_ = s.conn.publish(m.Reply, text)
		}
	}
}

func (s *Service) ping() any {
	return micro.Ping{ServiceIdentity: s.identity, Type: micro.PingResponseType}
}

func (s *Service) info() any {
	endpoints := []micro.EndpointInfo{{Name: statusEndpoint, Subject: s.subject(), QueueGroup: statusGroup}}
	for _, e := range s.queues {
		endpoints = append(endpoints, micro.EndpointInfo{Name: e.Name, Subject: s.pattern(e), QueueGroup: statusGroup, Metadata: map[string]string{"schema": e.Schema}})
	}
	return micro.Info{
		ServiceIdentity: s.identity, Type: micro.InfoResponseType, Description: "launch geometry for GPU work queues", Endpoints: endpoints,
	}
}

func (s *Service) stats() any {
	data, _ := json.Marshal(s.status()) // a status that does not encode is left out
	endpoints := []*micro.EndpointStats{{Name: statusEndpoint, Subject: s.subject(), QueueGroup: statusGroup, NumRequests: int(s.asked.Load()), Data: data}}
	for _, e := range s.queues {
		endpoints = append(endpoints, &micro.EndpointStats{Name: e.Name, Subject: s.pattern(e), QueueGroup: statusGroup, NumRequests: int(e.asked.Load())})
	}
	return micro.Stats{ServiceIdentity: s.identity, Type: micro.StatsResponseType, Started: s.started, Endpoints: endpoints}
}

// ID is the unique id of this registration.
func (s *Service) ID() string { return s.identity.ID }

// Stop takes the registration back. What has arrived is still answered.
func (s *Service) Stop() error {
	var errs []error
	for _, sub := range s.subs {
		errs = append(errs, ignoreGone(sub.Drain()))
	}
	s.answering.Wait() // at most answerWithin
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop service: %w", err)
	}
	return nil
}
