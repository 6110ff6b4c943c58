package natsio

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/trace"
)

// Config says how to reach NATS and how to behave on it. Start from
// DefaultConfig and set URL or Context.
type Config struct {
	// URL is one or more server addresses separated by commas.
	URL string
	// Context is the name of a NATS context, or the absolute path of one.
	Context string
	// Creds is the path of a credentials file, NKey that of an NKey's seed. Only with URL.
	Creds, NKey string
	// Inbox begins the subjects of answers to this connection, "" for the usual _INBOX or
	// what the context says. Runtimes answer where it begins with that, or with a prefix of theirs.
	Inbox string
	// ReplyPrefixes begin the reply subjects that are answered, besides this connection's own
	// inboxes; none means _INBOX.
	ReplyPrefixes []string
	// Name is shown in the server's list of connections.
	Name string

	// Subjects holds the prefix of all subjects.
	Subjects telemetry.Subjects
	// Shadowed, if it has a prefix, are the subjects whose telemetry and announcements Serve
	// hears instead of its own. Nobody there is answered, and launches there follow other
	// decisions than those made here.
	Shadowed telemetry.Subjects
	// Incarnation goes into the header of every record sent. Not zero. The
	// actors of the same process must have the same one, because they know the
	// echoes of their own reports by it.
	Incarnation uint64
	// Encoding of the records sent; every receiver reads both.
	Encoding telemetry.Encoding

	// Replicas is how many servers of a cluster keep each stream that this process makes or
	// serves from, 1 to 5. 0 means 3 on a cluster of three or more, else 1.
	Replicas int

	// ReconnectMin is the pause before the first attempt to reconnect; it
	// doubles with each round over all servers up to ReconnectMax. Half of it
	// is random.
	ReconnectMin, ReconnectMax time.Duration

	// Traces follows what comes with a traceparent. Nil: nothing is followed.
	Traces *trace.Book
	// Traceparent is the trace context of what this process reports and submits, "" for none.
	Traceparent string

	// Logger receives what people should know. Not nil.
	Logger *slog.Logger
}

// heard are the subjects of the telemetry that is taken in.
func (c *Config) heard() telemetry.Subjects {
	if c.Shadowed.Prefix != "" {
		return c.Shadowed
	}
	return c.Subjects
}

// How a connection behaves.
const (
	// connectTimeout bounds one attempt to connect.
	connectTimeout = 2 * time.Second
	// pingInterval is how often an idle connection is probed. maxPings unanswered
	// probes end it, so a silent server is noticed within 6 s.
	pingInterval = 2 * time.Second
	maxPings     = 2
	// reconnectBuffer holds what is sent by acknowledgements and pull requests
	// while the connection is away. Records do not go into it: see Conn.publish.
	reconnectBuffer = 1 << 20
)

// DefaultConfig returns a configuration that lacks only the server.
func DefaultConfig() Config {
	return Config{
		Name:         "ringmaster",
		Incarnation:  telemetry.NewIncarnation(),
		Encoding:     telemetry.EncodingMap,
		ReconnectMin: 100 * time.Millisecond,
		ReconnectMax: 2 * time.Second,
		Logger:       slog.New(slog.DiscardHandler),
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
	demand(c.URL != "" || c.Context != "" || c.Creds != "" || c.NKey != "", "no server: give a URL or a NATS context")
	demand(c.URL == "" || c.Context == "", "URL and context exclude each other")
	demand(c.Creds == "" && c.NKey == "" || c.URL != "", "a credentials file or an NKey needs the URL of its server too; a context names its own")
	demand(c.Creds == "" || c.NKey == "", "a credentials file and an NKey exclude each other")
	if c.Inbox != "" {
		errs = append(errs, c.checkInbox(c.Inbox))
	}
	for _, prefix := range c.ReplyPrefixes {
		errs = append(errs, c.checkInbox(prefix))
	}
	demand(c.Subjects.Prefix == "" || telemetry.ValidPrefix(c.Subjects.Prefix),
		"subject prefix %q is not tokens of [A-Za-z0-9_-] with dots between them", c.Subjects.Prefix)
	demand(c.Shadowed.Prefix == "" || telemetry.ValidPrefix(c.Shadowed.Prefix) && c.Shadowed.Root() != c.Subjects.Root(),
		"shadowed prefix %q is no prefix, or is the connection's own", c.Shadowed.Prefix)
	demand(c.Incarnation != 0, "incarnation is 0")
	demand(c.Encoding == telemetry.EncodingMap || c.Encoding == telemetry.EncodingArray, "encoding %d is unknown", c.Encoding)
	demand(c.Replicas >= 0 && c.Replicas <= 5, "replicas %d: use 1 to 5, or 0 for 3 on a cluster of three or more servers, else 1", c.Replicas)
	demand(c.ReconnectMin > 0 && c.ReconnectMax >= c.ReconnectMin,
		"reconnect pauses %v..%v are not a range above 0", c.ReconnectMin, c.ReconnectMax)
	demand(c.Logger != nil, "no logger")
	return errors.Join(errs...)
}
