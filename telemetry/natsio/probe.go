package natsio

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MinServerVersion is the oldest server that Ringmaster is made for.
const MinServerVersion = "2.12.0"

// Report says what a server offers.
type Report struct {
	Reachable     bool
	URL           string // without credentials
	ServerName    string
	ServerVersion string
	RTT           time.Duration
	MaxPayload    int64 // bytes
	JetStream     bool
	WorkStream    bool // the stream of batches exists
	// SmallStream says, if not empty, that the stream of batches is smaller than it usually is, or will be.
	SmallStream string
	Account     Account
	Streams     []StreamUse // those that were asked for
	Absent      []string    // names of those that are not there
	// Missing has a sentence for everything that is needed and not there, with
	// what to do about it. Empty means that nothing is missing.
	Missing []string
}

// Account is how much of what it may have for streams an account has taken.
type Account struct {
	Store, Reserved uint64 // bytes that are stored, and that streams have been promised
	MaxStore        int64  // bytes; below 0 for no limit but the server's own, which it tells its operator alone
	Streams         int
	MaxStreams      int // below 1 for no limit
}

// Probe connects once, looks, and disconnects. Everything that it finds is in
// the report, the use of some streams included; the error is only for a configuration that cannot be used.
func Probe(ctx context.Context, cfg Config, streams ...string) (Report, error) {
	var r Report
	if err := cfg.Validate(); err != nil {
		return r, err
	}
	patience := connectTimeout
	if until, ok := ctx.Deadline(); ok {
		patience = max(10*time.Millisecond, min(patience, time.Until(until)))
	}
	c, err := connect(cfg, nats.NoReconnect(), nats.Timeout(patience))
	if refused := loginError(err); refused != nil {
		r.miss("%s: %v", cfg.server(), refused)
		return r, nil
	}
	if err != nil {
		next := "start one (nats-server -js), or leave the address out for the embedded one"
		if cfg.Context != "" {
			next = "`nats context ls` lists the contexts, `nats context info` says where one leads"
		}
		r.miss("no NATS server at %s: %v; %s", cfg.server(), err, next)
		return r, nil
	}
	defer c.Close()
	r.Reachable = true
	r.URL = c.nc.ConnectedUrlRedacted()
	r.ServerName = c.nc.ConnectedServerName()
	r.ServerVersion = c.nc.ConnectedServerVersion()
	r.MaxPayload = c.nc.MaxPayload()
	if r.RTT, err = c.nc.RTT(); err != nil {
		r.miss("the server does not answer a ping: %v", err)
	}
	if older(r.ServerVersion, MinServerVersion) {
		r.miss("the server is version %s, %s or newer is needed; update it", r.ServerVersion, MinServerVersion)
	}
	if r.MaxPayload < maxWorkBytes {
		r.miss("the server takes payloads of %d bytes, batches have up to %d; raise max_payload", r.MaxPayload, maxWorkBytes)
	}
	r.probeJetStream(ctx, c, streams)
	return r, nil
}

func (r *Report) probeJetStream(ctx context.Context, c *Conn, streams []string) {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	ctx, cancel = c.Permitted(ctx)
	defer cancel()
	account, err := c.js.AccountInfo(ctx)
	if cause := context.Cause(ctx); errors.Is(cause, ErrNotPermitted) {
		r.miss("%v; whoever runs or looks after a worker needs it, publishers and subscribers do not", cause)
		return
	}
	if err != nil {
		r.miss("no JetStream, so no work can be submitted: %v; start the server with -js, or enable it for the account", err)
		return
	}
	r.JetStream = true
	tier := account.Tier
	if len(account.Tiers) > 0 { // the limits then depend on how many servers keep a stream
		tier = tierOf(account.Tiers, c.cfg.Replicas)
	}
	r.Account = Account{tier.Store, tier.ReservedStore, tier.Limits.MaxStore, tier.Streams, tier.Limits.MaxStreams}
	switch stream, err := c.js.Stream(ctx, c.WorkStream()); {
	case err == nil:
		r.WorkStream = true
		if has := stream.CachedInfo().Config.MaxBytes; has > 0 && has < maxWorkStore {
			r.SmallStream = fmt.Sprintf("the stream %s takes %d bytes, usually %d: the server or the account had no more space when it was made",
				c.WorkStream(), has, maxWorkStore)
		}
	case errors.Is(err, jetstream.ErrStreamNotFound) && tier.Limits.MaxStore >= 0:
		r.probeSpace(c.WorkStream(), r.Account.Left())
	case !errors.Is(err, jetstream.ErrStreamNotFound): // a missing one is created on first use
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		r.miss("the stream %s cannot be looked up: %v", c.WorkStream(), err)
	}
	for _, name := range streams {
		switch use, err := c.StreamUse(ctx, name); {
		case err == nil:
			r.Streams = append(r.Streams, use)
		case errors.Is(err, jetstream.ErrStreamNotFound):
			r.Absent = append(r.Absent, name)
		} // what may not be asked is nothing to say
	}
}

// tierOf is what an account has for streams of so many replicas; 0 stands for three, or else one.
func tierOf(tiers map[string]jetstream.Tier, replicas int) jetstream.Tier {
	if replicas != 0 {
		return tiers[fmt.Sprintf("R%d", replicas)]
	}
	if three, ok := tiers["R3"]; ok {
		return three
	}
	return tiers["R1"]
}

// Left is how many bytes a new stream may be promised, where there is a limit.
func (a *Account) Left() int64 { return a.MaxStore - int64(max(a.Store, a.Reserved)) }

// probeSpace compares what the account has left with what the stream of batches takes.
func (r *Report) probeSpace(stream string, left int64) {
	switch {
	case left < maxWorkStore/leastPart:
		r.miss("the account has %d bytes left for streams, %s takes at least %d; raise its limit", left, stream, maxWorkStore/leastPart)
	case left < maxWorkStore:
		r.SmallStream = fmt.Sprintf("the account has %d bytes left for streams: %s will be smaller than the usual %d", left, stream, maxWorkStore)
	}
}

func (r *Report) miss(format string, args ...any) {
	r.Missing = append(r.Missing, fmt.Sprintf(format, args...))
}

// server names what the configuration connects to.
func (c *Config) server() string {
	if c.Context != "" {
		return "context " + c.Context
	}
	var shown []string
	for one := range strings.SplitSeq(c.URL, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			return "the given URL"
		}
		shown = append(shown, u.Redacted())
	}
	return strings.Join(shown, ", ")
}

// OldServer says what is wrong with the version of the server that the connection is to, or nil.
func (c *Conn) OldServer() error {
	if version := c.nc.ConnectedServerVersion(); older(version, MinServerVersion) {
		return fmt.Errorf("the NATS server is version %s, %s or newer is needed", version, MinServerVersion)
	}
	return nil
}

// older reports whether version a is before b. What is no version is not.
func older(a, b string) bool {
	x, xok := release(a)
	y, yok := release(b)
	return xok && yok && slices.Compare(x[:], y[:]) < 0
}

func release(version string) (v [3]int, ok bool) {
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	return v, n == 3
}
