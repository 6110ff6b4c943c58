package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Errors of Start.
var (
	// ErrPortTaken says that the server's address is in use.
	ErrPortTaken = errors.New("address in use")
	// ErrNotLoopback says that the server was asked to listen where other machines
	// can reach it.
	ErrNotLoopback = errors.New("address is not loopback")
)

// Bounds of a server.
const (
	maxPayload   = 1 << 20 // bytes of a message, headers included
	maxStore     = 4 << 30 // bytes of all streams on disk
	readyTimeout = 10 * time.Second
)

// Config describes an embedded server. Start from DefaultConfig.
type Config struct {
	// Host is the address to listen on. It has to be a loopback address, unless
	// Insecure is set: the embedded server asks nobody who they are.
	Host     string
	Insecure bool
	// Port to listen on, -1 for one that is free.
	Port int
	// StoreDir holds the streams. Empty means a temporary directory that
	// Shutdown removes: what was not done is then lost with the process.
	StoreDir string
	// Logger receives warnings and errors of the server, and everything else
	// at debug level. Not nil.
	Logger *slog.Logger
}

// DefaultConfig listens on a free port of the loopback interface.
func DefaultConfig() Config {
	return Config{Host: "127.0.0.1", Port: -1, Logger: slog.New(slog.DiscardHandler)}
}

func (c *Config) validate() error {
	switch {
	case c.Port != -1 && (c.Port < 1 || c.Port > 65535):
		return fmt.Errorf("NATS server: port %d is not -1 (any) or 1..65535", c.Port)
	case !c.Insecure && !isLoopback(c.Host):
		return fmt.Errorf("%w: %q would let other machines in without asking who they are; use 127.0.0.1, or a NATS server with users of its own",
			ErrNotLoopback, c.Host)
	}
	return nil
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Server is an embedded NATS server with JetStream.
type Server struct {
	srv      *server.Server
	scratch  string // directory to remove, or empty
	shutdown sync.Once
}

// Start starts a server and returns when clients and JetStream are
// served. The error wraps ErrPortTaken or ErrNotLoopback where that is why.
func Start(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	if err := probePort(cfg); err != nil {
		return nil, err
	}
	s := new(Server)
	store := cfg.StoreDir
	if store == "" {
		dir, err := os.MkdirTemp("", "ringmaster-nats-")
		if err != nil {
			return nil, fmt.Errorf("NATS server: %w", err)
		}
		store, s.scratch = dir, dir
	}
	if err := s.start(cfg, store, &serverLog{log: cfg.Logger, fatal: make(chan string, 1)}); err != nil {
		s.Shutdown()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(cfg Config, store string, log *serverLog) error {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "ringmaster-embedded",
		Host:                   cfg.Host,
		Port:                   cfg.Port,
		NoSigs:                 true,
		MaxPayload:             maxPayload,
		JetStream:              true,
		StoreDir:               store,
		JetStreamMaxStore:      maxStore,
		DisableJetStreamBanner: true,
		// A subscriber that does not read loses messages. Else the server would make
		// whoever publishes to it wait, and everything of theirs with it.
		NoFastProducerStall: true,
	})
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	s.srv = srv
	srv.SetLogger(log, false, false)
	srv.Start() // returns once everything is started or has failed
	select {
	case why := <-log.fatal:
		return fmt.Errorf("NATS server: %s", why)
	default:
	}
	if !srv.ReadyForConnections(readyTimeout) {
		return fmt.Errorf("NATS server: not ready after %v", readyTimeout)
	}
	if !srv.JetStreamEnabled() {
		return fmt.Errorf("NATS server: no JetStream in %s; is the directory writable?", store)
	}
	if log.recovered() {
		cfg.Logger.Info("the last process did not close its streams; the server has checked them", "streams", stored(srv))
	}
	return nil
}

// stored says how many messages each stream of a server has.
func stored(srv *server.Server) string {
	about, err := srv.Jsz(&server.JSzOptions{Accounts: true, Streams: true})
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, account := range about.AccountDetails {
		for i := range account.Streams {
			all = append(all, fmt.Sprintf("%s: %d", account.Streams[i].Name, account.Streams[i].State.Msgs))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// probePort finds out early, and in words, that the address cannot be had.
func probePort(cfg Config) error {
	if cfg.Port == -1 {
		return nil
	}
	addr := net.JoinHostPort(cfg.Host, strconv.Itoa(cfg.Port))
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%w: %s; stop what listens there, choose another port, or connect to it with nats://%s",
			ErrPortTaken, addr, addr)
	}
	if err != nil {
		return fmt.Errorf("NATS server: %w", err)
	}
	return l.Close()
}

// URL is the address for clients.
func (s *Server) URL() string { return s.srv.ClientURL() }

// Shutdown stops the server and returns when it has stopped. It may be called
// more than once.
func (s *Server) Shutdown() {
	s.shutdown.Do(func() {
		if s.srv != nil {
			s.srv.Shutdown()
			s.srv.WaitForShutdown()
		}
		if s.scratch != "" {
			_ = os.RemoveAll(s.scratch) // a temporary directory; the system clears it too
		}
	})
}

// serverLog hands the server's own log lines to slog, the routine ones at
// debug level. The first fatal one is kept: it says why a start failed.
type serverLog struct {
	log   *slog.Logger
	fatal chan string

	mu    sync.Mutex
	ready bool // the server has recovered its streams
	found bool // streams that were not closed
}

// recovered says that the streams are recovered, and whether the last process had not closed one.
func (l *serverLog) recovered() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ready = true
	return l.found
}

// outdated are what the server says of a stream whose index is older than its messages, which it then reads. That is so
// after every process that was killed, and one line for all streams is enough. Of damage it says something else.
var outdated = []string{"] Stream state outdated", "] Stream state detected prior state", "] Recovering stream state from index errored: prior state file"}

func (l *serverLog) Warnf(format string, v ...any) {
	text := fmt.Sprintf(format, v...)
	l.mu.Lock()
	expected := !l.ready && slices.ContainsFunc(outdated, func(words string) bool { return strings.Contains(text, words) })
	l.found = l.found || expected
	l.mu.Unlock()
	to := l.log.Warn
	if expected {
		to = l.log.Debug
	}
	l.write(to, "%s", []any{text})
}

func (l *serverLog) Noticef(format string, v ...any) { l.write(l.log.Debug, format, v) }
func (l *serverLog) Errorf(format string, v ...any)  { l.write(l.log.Error, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.write(l.log.Debug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.write(l.log.Debug, format, v) }

func (l *serverLog) Fatalf(format string, v ...any) {
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
	l.write(l.log.Error, format, v)
}

func (l *serverLog) write(to func(string, ...any), format string, v []any) {
	to("nats server: " + fmt.Sprintf(format, v...))
}
