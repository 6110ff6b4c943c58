package embedded

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strconv"
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
	// can reach it without being told that this is intended.
	ErrNotLoopback = errors.New("address is not loopback")
)

// Config describes an embedded server. Start from DefaultConfig.
type Config struct {
	// Host is the address to listen on. It has to be a loopback address
	// unless AllowRemote is set: the embedded server asks nobody who they are.
	Host string
	// AllowRemote permits addresses that other machines can reach.
	AllowRemote bool
	// Port to listen on, -1 for one that is free, 0 for in-process
	// connections only.
	Port int
	// StoreDir holds the streams. Empty means a temporary directory that
	// Shutdown removes: what was not done is then lost with the process.
	StoreDir string
	// MaxPayload is the largest message in bytes, headers included. 1 KiB..64 MiB.
	MaxPayload int
	// MaxStore bounds the bytes of all streams on disk.
	MaxStore int64
	// ReadyTimeout bounds the start.
	ReadyTimeout time.Duration
	// Logger receives warnings and errors of the server, and everything else
	// at debug level. Not nil.
	Logger *slog.Logger
}

// DefaultConfig listens on a free port of the loopback interface.
func DefaultConfig() Config {
	return Config{
		Host:         "127.0.0.1",
		Port:         -1,
		MaxPayload:   1 << 20,
		MaxStore:     4 << 30,
		ReadyTimeout: 10 * time.Second,
		Logger:       slog.New(slog.DiscardHandler),
	}
}

// Validate reports every problem of the configuration.
func (c *Config) Validate() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("NATS server: "+format, args...))
		}
	}
	demand(c.Port >= -1 && c.Port <= 65535, "port %d is not -1 (any), 0 (none) or 1..65535", c.Port)
	demand(c.MaxPayload >= 1<<10 && c.MaxPayload <= 64<<20, "max payload %d is not in 1 KiB..64 MiB", c.MaxPayload)
	demand(c.MaxStore > 0, "max store %d is not above 0", c.MaxStore)
	demand(c.ReadyTimeout > 0, "ready timeout %v is not above 0", c.ReadyTimeout)
	demand(c.Logger != nil, "no logger")
	if c.Port != 0 && !c.AllowRemote && !isLoopback(c.Host) {
		errs = append(errs, fmt.Errorf(
			"%w: %q would let other machines in without asking who they are; use 127.0.0.1, or a NATS server with accounts of its own", ErrNotLoopback, c.Host))
	}
	return errors.Join(errs...)
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
	listens  bool
	scratch  string    // directory to remove, or empty
	reopener *reopener // nil until the server has started
	shutdown sync.Once
}

// Start starts a server and returns when clients and JetStream are
// served. The error wraps ErrPortTaken or ErrNotLoopback where that is why.
func Start(cfg Config) (*Server, error) { return start(cfg, reopenPause) }

func start(cfg Config, pause time.Duration) (*Server, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if err := probePort(cfg); err != nil {
		return nil, err
	}
	s := &Server{listens: cfg.Port != 0}
	store := cfg.StoreDir
	if store == "" {
		dir, err := os.MkdirTemp("", "ringmaster-nats-")
		if err != nil {
			return nil, fmt.Errorf("NATS server: %w", err)
		}
		store, s.scratch = dir, dir
	}
	log := &serverLog{log: cfg.Logger, fatal: make(chan string, 1), broken: make(chan struct{}, 1)}
	if err := s.start(cfg, store, log); err != nil {
		s.Shutdown()
		return nil, err
	}
	s.reopener = startReopener(s.srv, log, pause)
	return s, nil
}

func (s *Server) start(cfg Config, store string, log *serverLog) error {
	srv, err := server.NewServer(&server.Options{
		ServerName:             "ringmaster-embedded",
		Host:                   cfg.Host,
		Port:                   cfg.Port,
		DontListen:             cfg.Port == 0,
		NoSigs:                 true,
		MaxPayload:             int32(cfg.MaxPayload),
		JetStream:              true,
		StoreDir:               store,
		JetStreamMaxStore:      cfg.MaxStore,
		DisableJetStreamBanner: true,
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
	if !srv.ReadyForConnections(cfg.ReadyTimeout) {
		return fmt.Errorf("NATS server: not ready after %v", cfg.ReadyTimeout)
	}
	if !srv.JetStreamEnabled() {
		return fmt.Errorf("NATS server: no JetStream in %s; is the directory writable?", store)
	}
	return nil
}

// probePort finds out early, and in words, that the address cannot be had.
func probePort(cfg Config) error {
	if cfg.Port <= 0 {
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

// URL is the address for clients, empty if the server does not listen.
func (s *Server) URL() string {
	if !s.listens {
		return ""
	}
	return s.srv.ClientURL()
}

// InProcessConn opens a connection to the server without a socket, as the client's
// option for that wants it.
func (s *Server) InProcessConn() (net.Conn, error) { return s.srv.InProcessConn() }

// Shutdown stops the server and returns when it has stopped. It may be called
// more than once.
func (s *Server) Shutdown() {
	s.shutdown.Do(func() {
		if s.reopener != nil {
			s.reopener.stop()
		}
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
	log    *slog.Logger
	fatal  chan string
	broken chan struct{} // holds a token once a stream could not write
}

func (l *serverLog) Noticef(format string, v ...any) { l.write(l.log.Debug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.write(l.log.Warn, format, v) }
func (l *serverLog) Errorf(format string, v ...any) {
	l.write(l.log.Error, format, v)
	l.notice(format)
}
func (l *serverLog) Debugf(format string, v ...any) { l.write(l.log.Debug, format, v) }
func (l *serverLog) Tracef(format string, v ...any) { l.write(l.log.Debug, format, v) }

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
