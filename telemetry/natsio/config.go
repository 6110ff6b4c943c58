package natsio

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/telemetry"
)

// Config says how to reach NATS and how to behave on it. Start from
// DefaultConfig and set exactly one of URL, Context and InProcess.
type Config struct {
	// URL is one or more server addresses separated by commas.
	URL string
	// Context is the name of a NATS context, or the absolute path of one.
	Context string
	// InProcess connects to an embedded server (package embedded) without a
	// socket: lower latency than loopback, lower throughput.
	InProcess nats.InProcessConnProvider
	// Creds is the path of a credentials file. Only with URL.
	Creds string
	// Name is shown in the server's list of connections.
	Name string

	// Subjects holds the prefix of all subjects.
	Subjects telemetry.Subjects
	// Incarnation goes into the header of every record sent. Not zero. The
	// actors of the same process must have the same one, because they know the
	// echoes of their own reports by it.
	Incarnation uint64
	// Encoding of the records sent; every receiver reads both.
	Encoding telemetry.Encoding

	// ConnectTimeout bounds one attempt to connect. 10 ms..1 min.
	ConnectTimeout time.Duration
	// ReconnectMin is the pause before the first attempt to reconnect; it
	// doubles with each round over all servers up to ReconnectMax. Half of it
	// is random.
	ReconnectMin, ReconnectMax time.Duration
	// PingInterval is how often an idle connection is probed. MaxPings
	// unanswered probes end it, so a silent server is noticed within
	// PingInterval × (MaxPings + 1).
	PingInterval time.Duration
	MaxPings     int

	// ReplyPrefixes are the beginnings of reply subjects that are answered.
	// Every other reply subject is ignored and the record that asked for it is
	// reported: a publisher could otherwise name a subject that it may not
	// write itself.
	ReplyPrefixes []string
	// RejectRate is how many refusals of one worker name are reported each
	// second after a burst of RejectBurst. The rest is counted.
	RejectRate  float64
	RejectBurst int

	// WorkStream describes the stream of batches, for whoever creates it.
	WorkStream WorkStreamConfig

	// Logger receives what people should know. Not nil.
	Logger *slog.Logger
}

// WorkStreamConfig holds the choices that an operator has about the stream of
// batches. They matter when the stream is created; one that exists keeps its own.
type WorkStreamConfig struct {
	// Memory keeps the batches in memory: faster, and gone with the server.
	Memory bool
	// MaxBytes bounds the stored batches. Above it publishers are refused;
	// nothing that was accepted is dropped. At least 1 MiB.
	MaxBytes int64
	// Replicas is the number of servers that hold a copy. 1..5.
	Replicas int
}

// DefaultConfig returns a configuration that lacks only the server.
func DefaultConfig() Config {
	return Config{
		Name:           "ringmaster",
		Incarnation:    telemetry.NewIncarnation(),
		Encoding:       telemetry.EncodingMap,
		ConnectTimeout: 2 * time.Second,
		ReconnectMin:   100 * time.Millisecond,
		ReconnectMax:   2 * time.Second,
		PingInterval:   2 * time.Second,
		MaxPings:       2,
		// Inboxes of clients, and what a server puts in their place when the
		// request crosses accounts.
		ReplyPrefixes: []string{"_INBOX.", "_R_."},
		RejectRate:    10,
		RejectBurst:   20,
		WorkStream:    WorkStreamConfig{MaxBytes: 1 << 30, Replicas: 1},
		Logger:        slog.New(slog.DiscardHandler),
	}
}

// Validate reports every problem of the configuration.
func (c *Config) Validate() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	servers := 0
	for _, given := range []bool{c.URL != "", c.Context != "", c.InProcess != nil} {
		if given {
			servers++
		}
	}
	demand(servers > 0, "no server: give a URL, a NATS context, or an embedded server")
	demand(servers <= 1, "URL, context and in-process server exclude each other")
	demand(c.Creds == "" || c.URL != "", "a credentials file goes with a URL; a context names its own")
	demand(c.Subjects.Prefix == "" || telemetry.ValidPrefix(c.Subjects.Prefix),
		"subject prefix %q is not tokens of [A-Za-z0-9_-] with dots between them", c.Subjects.Prefix)
	demand(c.Incarnation != 0, "incarnation is 0")
	demand(c.Encoding == telemetry.EncodingMap || c.Encoding == telemetry.EncodingArray, "encoding %d is unknown", c.Encoding)
	demand(c.ConnectTimeout >= 10*time.Millisecond && c.ConnectTimeout <= time.Minute,
		"connect timeout %v is not in 10ms..1m", c.ConnectTimeout)
	demand(c.ReconnectMin > 0 && c.ReconnectMax >= c.ReconnectMin,
		"reconnect pauses %v..%v are not a range above 0", c.ReconnectMin, c.ReconnectMax)
	demand(c.PingInterval > 0 && c.MaxPings > 0, "ping interval %v and %d pings are not above 0", c.PingInterval, c.MaxPings)
	for _, p := range c.ReplyPrefixes {
		demand(len(p) > 1 && p[len(p)-1] == '.', "reply prefix %q does not end a token with a dot", p)
	}
	demand(c.RejectRate >= 0 && c.RejectBurst >= 0, "reject rate %v and burst %d are negative", c.RejectRate, c.RejectBurst)
	demand(c.WorkStream.MaxBytes >= 1<<20, "work stream of %d bytes is less than 1 MiB", c.WorkStream.MaxBytes)
	demand(c.WorkStream.Replicas >= 1 && c.WorkStream.Replicas <= 5, "%d replicas are not 1..5", c.WorkStream.Replicas)
	demand(c.Logger != nil, "no logger")
	return errors.Join(errs...)
}
