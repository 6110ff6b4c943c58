package natsio

import (
	"context"
	"encoding/json"
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

// ServiceName is the name under which runtimes register; those that shadow others register as ShadowServiceName, since
// who looks for runtimes looks for those that act.
const (
	ServiceName       = "ringmaster"
	ShadowServiceName = ServiceName + "-shadow"
)

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
	cfg      ServiceConfig
	asked    atomic.Int64 // requests for the status
	subs     []*nats.Subscription

	endpoints []*endpoint
	answering sync.WaitGroup
}

// ServiceConfig says what a service is, and what it answers.
type ServiceConfig struct {
	Version  string            // a semantic version; any other is shown as 0.0.0
	Metadata map[string]string // of the service, for people
	// Status is what `<prefix>.status` and the data field of the service's statistics say, as JSON. Of several runtimes one
	// answers. It is called concurrently.
	Status func() any
	Queues []QueueEndpoint
	// Node is the token that names this process in the subjects of Nodes; "" for the service's id.
	Node  string
	Nodes []NodeEndpoint
}

// QueueEndpoint answers requests about one queue, on `<prefix>.<name>.<worker>.<queue>`, with JSON. Of several runtimes
// one answers.
type QueueEndpoint struct {
	Name   string
	Schema string // JSON schema of the answer, in the endpoint's metadata
	// Answer is called concurrently, by a few requests at a time; others are refused meanwhile. Its error is the answer.
	Answer func(ctx context.Context, worker, queue string) (any, error)
}

// NodeEndpoint answers requests about this process, on `<prefix>.<name>.<node>`, with JSON. Of several processes of one name
// one answers.
type NodeEndpoint struct {
	Name   string
	Schema string                                 // as of a QueueEndpoint
	Answer func(ctx context.Context) (any, error) // as of a QueueEndpoint
}

// endpoint is either.
type endpoint struct {
	name, schema string
	subject      string // that requests come on
	answer       func(ctx context.Context, m *nats.Msg) (any, error)

	asked  atomic.Int64
	places chan struct{} // of its own, so that a crowd at one endpoint keeps nobody from another
}

const (
	answersAtOnce = 2 // of an endpoint: one may read a thousand decisions
	answerWithin  = 5 * time.Second
)

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// RegisterService makes the runtime visible as a NATS service. A request without an inbox to answer to is not answered.
func (c *Conn) RegisterService(cfg ServiceConfig) (*Service, error) {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(cfg.Version); m != nil {
		number = m[1]
	}
	if cfg.Metadata == nil {
		cfg.Metadata = map[string]string{}
	}
	id := fmt.Sprintf("%016x", c.cfg.Incarnation)
	if cfg.Node == "" {
		cfg.Node = id
	}
	name := ServiceName
	if c.cfg.Shadowed.Prefix != "" {
		name = ShadowServiceName
	}
	s := &Service{
		conn: c, started: time.Now().UTC(), cfg: cfg,
		identity: micro.ServiceIdentity{Name: name, ID: id, Version: number, Metadata: cfg.Metadata},
	}
	s.listEndpoints()
	if err := s.subscribe(); err != nil {
		unsubscribe(s.subs)
		return nil, fmt.Errorf("register service: %w", err)
	}
	return s, nil
}

// listEndpoints makes endpoints of what the configuration answers.
func (s *Service) listEndpoints() {
	add := func(name, names, schema string, answer func(ctx context.Context, m *nats.Msg) (any, error)) {
		s.endpoints = append(s.endpoints, &endpoint{
			name: name, subject: s.conn.prefix() + "." + name + "." + names, schema: schema, answer: answer, places: make(chan struct{}, answersAtOnce),
		})
	}
	for _, e := range s.cfg.Queues {
		add(e.Name, "*.*", e.Schema, func(ctx context.Context, m *nats.Msg) (any, error) {
			worker, queue, _ := strings.Cut(strings.TrimPrefix(m.Subject, s.conn.prefix()+"."+e.Name+"."), ".")
			if err := CheckNames(worker, queue); err != nil {
				return nil, fmt.Errorf("%w: %w", ErrRequest, err)
			}
			return e.Answer(ctx, worker, queue)
		})
	}
	for _, e := range s.cfg.Nodes {
		add(e.Name, s.cfg.Node, e.Schema, func(ctx context.Context, _ *nats.Msg) (any, error) { return e.Answer(ctx) })
	}
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
		for _, of := range [][2]string{{"", ""}, {s.identity.Name, ""}, {s.identity.Name, s.identity.ID}} {
			subject, err := micro.ControlSubject(verb, of[0], of[1])
			if err != nil {
				return err
			}
			if err := add(s.conn.nc.Subscribe(subject, s.answer(value))); err != nil {
				return err
			}
		}
	}
	for _, e := range s.endpoints {
		if err := add(s.conn.nc.QueueSubscribe(e.subject, statusGroup, func(m *nats.Msg) { s.ask(e, m) })); err != nil {
			return err
		}
	}
	return add(s.conn.nc.QueueSubscribe(s.subject(), statusGroup, s.answer(func() any {
		s.asked.Add(1)
		return s.cfg.Status()
	})))
}

// ask answers a request to an endpoint.
func (s *Service) ask(e *endpoint, m *nats.Msg) {
	if !s.conn.MayAnswer(m) {
		return
	}
	select {
	case e.places <- struct{}{}:
	default:
		s.conn.refuse(m.Reply, telemetry.SubjectSnapshot, ErrTooMany)
		return
	}
	e.asked.Add(1)
	s.answering.Go(func() {
		defer func() { <-e.places }()
		ctx, cancel := context.WithTimeout(context.Background(), answerWithin)
		defer cancel()
		value, err := e.answer(ctx, m)
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
	for _, e := range s.endpoints {
		endpoints = append(endpoints, micro.EndpointInfo{Name: e.name, Subject: e.subject, QueueGroup: statusGroup, Metadata: map[string]string{"schema": e.schema}})
	}
	return micro.Info{
		ServiceIdentity: s.identity, Type: micro.InfoResponseType, Description: "launch geometry for GPU work queues", Endpoints: endpoints,
	}
}

func (s *Service) stats() any {
	data, _ := json.Marshal(s.cfg.Status()) // a status that does not encode is left out
	endpoints := []*micro.EndpointStats{{Name: statusEndpoint, Subject: s.subject(), QueueGroup: statusGroup, NumRequests: int(s.asked.Load()), Data: data}}
	for _, e := range s.endpoints {
		endpoints = append(endpoints, &micro.EndpointStats{Name: e.name, Subject: e.subject, QueueGroup: statusGroup, NumRequests: int(e.asked.Load())})
	}
	return micro.Stats{ServiceIdentity: s.identity, Type: micro.StatsResponseType, Started: s.started, Endpoints: endpoints}
}

// Stop takes the registration back, and returns when what has arrived is answered, or with ctx's error.
func (s *Service) Stop(ctx context.Context) error {
	err := drain(ctx, s.conn.nc, s.subs...)
	if err == nil {
		err = waitFor(ctx, &s.answering)
	}
	if err != nil {
		return fmt.Errorf("stop service: %w", err)
	}
	return nil
}
