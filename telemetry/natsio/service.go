package natsio

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the name under which runtimes register.
const ServiceName = "ringmaster"

// Service is a registration that `nats service ls` and monitoring tools find.
type Service struct{ service micro.Service }

var semver = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+(?:[-+][0-9A-Za-z.+-]+)?)$`)

// RegisterService makes the runtime visible as a NATS service. Its one
// endpoint, `<prefix>.status`, answers with status() as JSON, and so does the
// data field of the service's statistics; of several runtimes one answers.
// status is called concurrently. version has to be a semantic version; any other is
// shown as 0.0.0. A status request without an inbox to answer to is not answered.
func (c *Conn) RegisterService(version string, metadata map[string]string, status func() any) (*Service, error) {
	number := "0.0.0"
	if m := semver.FindStringSubmatch(version); m != nil {
		number = m[1]
	}
	service, err := micro.AddService(c.nc, micro.Config{
		Name: ServiceName, Version: number, Description: "launch geometry for GPU work queues", Metadata: metadata,
		StatsHandler: func(*micro.Endpoint) any { return status() },
	})
	if err != nil {
		return nil, fmt.Errorf("register service: %w", err)
	}
	answer := micro.HandlerFunc(func(r micro.Request) {
		if answerable(r.Reply()) {
			_ = r.RespondJSON(status()) // the requester times out
		}
	})
	if err := service.AddEndpoint("status", answer, micro.WithEndpointSubject(c.prefix()+".status")); err != nil {
		return nil, errors.Join(fmt.Errorf("register service: %w", err), service.Stop())
	}
	return &Service{service}, nil
}

// ID is the unique id of this registration.
func (s *Service) ID() string { return s.service.Info().ID }

// Stop takes the registration back. What has arrived is still answered.
func (s *Service) Stop() error {
	if err := s.service.Stop(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) && !errors.Is(err, nats.ErrBadSubscription) {
		return fmt.Errorf("stop service: %w", err)
	}
	return nil
}
