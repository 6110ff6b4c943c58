package admin

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"syscall"
	"time"

	"ringmaster/cmd/runtime/health"
)

// DefaultAddr is where a process listens unless it is told otherwise.
const DefaultAddr = "127.0.0.1:8420"

// Config says what is served, and to whom.
type Config struct {
	Addr string // host:port; port 0: any
	// TokenFile holds a bearer token that every request has to bring. "": none is asked for.
	TokenFile string
	// CertFile and KeyFile make it HTTPS; with ClientCAFile too every client has to show a certificate of that authority.
	CertFile, KeyFile, ClientCAFile string

	Metrics     http.Handler
	Live, Ready func() []health.Reason // empty: nothing is wrong
	Pprof       bool                   // serve profiles
	// Other serves all other paths, with GET and HEAD. Its answers end after WriteTimeout, unless it sets another
	// deadline by http.ResponseController. Nil: there are none.
	Other http.Handler
	Log   *slog.Logger
}

// Bounds against clients that are slow or many. What a handler writes has WriteTimeout, so that one that does not read
// holds a connection for no longer.
const (
	headerTimeout  = 5 * time.Second
	readTimeout    = 10 * time.Second
	WriteTimeout   = 30 * time.Second
	idleTimeout    = time.Minute
	maxHeaderBytes = 16 << 10
	maxConnections = 128 // more are closed as they come
	profileTimeout = 5 * time.Minute
)

// ErrPortTaken says that another process listens at the address.
var ErrPortTaken = errors.New("another process listens there")

// Server is a running one.
type Server struct {
	http *http.Server
	at   net.Addr
	done chan struct{}
}

// Start checks the configuration, listens and serves.
func Start(cfg Config) (*Server, error) {
	guard, err := newGuard(&cfg)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", cfg.Addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s: %w", cfg.Addr, ErrPortTaken)
	case err != nil:
		return nil, fmt.Errorf("listen at %s: %w", cfg.Addr, err)
	}
	s := &Server{at: listener.Addr(), done: make(chan struct{})}
	s.http = &http.Server{
		Handler: guard.protect(routes(&cfg)), TLSConfig: guard.tls,
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: WriteTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(complaints{cfg.Log}, "", 0),
	}
	limited := newLimited(listener, maxConnections)
	go func() {
		defer close(s.done)
		if guard.tls != nil {
			_ = s.http.Serve(tls.NewListener(limited, guard.tls))
			return
		}
		_ = s.http.Serve(limited)
	}()
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.at }

// Close takes no new connections, lets the requests under way end until ctx does, and then breaks off the rest.
func (s *Server) Close(ctx context.Context) {
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
	<-s.done
}

// routes serves the paths.
func routes(cfg *Config) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", cfg.Metrics)
	mux.Handle("GET /livez", answer("live", cfg.Live))
	mux.Handle("GET /readyz", answer("ready", cfg.Ready))
	if cfg.Pprof {
		mux.Handle("GET /debug/pprof/", patient(pprof.Index))
		mux.Handle("GET /debug/pprof/profile", patient(pprof.Profile))
		mux.Handle("GET /debug/pprof/trace", patient(pprof.Trace))
		mux.Handle("GET /debug/pprof/symbol", patient(pprof.Symbol))
	}
	if cfg.Other != nil {
		mux.Handle("GET /", cfg.Other)
	} else {
		mux.HandleFunc("GET /{$}", index)
	}
	return mux
}

// patient gives a profile the time that its caller asks for.
func patient(h http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(profileTimeout))
		h(w, r)
	})
}

func index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprint(w, "ringmaster\n\n/metrics  for Prometheus\n/livez    whether the process has to be started again\n/readyz   whether work can be sent here; ?format=json for programs\n")
}

// complaints are the server's own, about connections: a client that speaks no HTTP is nothing to act on.
type complaints struct{ log *slog.Logger }

func (c complaints) Write(line []byte) (int, error) {
	c.log.Debug("admin connection", "error", string(line))
	return len(line), nil
}
