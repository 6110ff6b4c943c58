package natsio

import (
	"fmt"
	"regexp"

	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the name under which runtimes register.
const ServiceName = "ringmaster"

// Service is a registration that `nats service ls` and monitoring tools find.
type Service struct {
	svc micro.Service
}

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// RegisterService makes the runtime visible as a NATS service. Its one
// endpoint, `<prefix>.status`, answers with status() as JSON, and so does the
// data field of the service's statistics. status is called concurrently.
// version has to be a semantic version; any other is shown as 0.0.0.
func (c *Conn) RegisterService(version string, metadata map[string]string, status func() any) (*Service, error) {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(version); m != nil {
		number = m[1]
	}
	svc, err := micro.AddService(c.nc, micro.Config{
		Name:         ServiceName,
		Version:      number,
		Description:  "launch geometry for GPU work queues",
		Metadata:     metadata,
		StatsHandler: func(*micro.Endpoint) any { return status() },
	})
	if err != nil {
		return nil, fmt.Errorf("natsio: register service: %w", err)
	}
	answer := func(r micro.Request) {
		if c.answerable(r.Reply()) { // else somebody borrows this connection's permissions
			_ = r.RespondJSON(status()) // else the requester times out
		}
	}
	err = svc.AddEndpoint("status", micro.HandlerFunc(answer),
		micro.WithEndpointSubject(c.prefix()+".status"))
	if err != nil {
		_ = svc.Stop() // the first error says more
		return nil, fmt.Errorf("natsio: register service: %w", err)
	}
	return &Service{svc: svc}, nil
}

// ID is the unique id of this registration.
func (s *Service) ID() string { return s.svc.Info().ID }

// Stop takes the registration back.
func (s *Service) Stop() error {
	if err := s.svc.Stop(); err != nil {
		return fmt.Errorf("natsio: stop service: %w", err)
	}
	return nil
}
