package admin

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
)

// minToken is the least length of a token in bytes: what is shorter can be guessed.
const minToken = 16

// ErrOpen says that everybody who reaches the address could read.
var ErrOpen = errors.New("everybody who reaches it could read what this process does")

// guard decides who is let in.
type guard struct {
	token    *[sha256.Size]byte // nil: none is asked for
	tls      *tls.Config        // nil: plain HTTP
	loopback bool               // the address is one
}

// newGuard checks that an address that others reach asks them who they are.
func newGuard(cfg *Config) (*guard, error) {
	host, _, err := net.SplitHostPort(cfg.Addr)
	if err != nil {
		return nil, fmt.Errorf("address %q: want HOST:PORT", cfg.Addr)
	}
	g := &guard{loopback: isLoopback(host)}
	if cfg.TokenFile != "" {
		if g.token, err = readToken(cfg.TokenFile); err != nil {
			return nil, err
		}
	}
	if g.tls, err = tlsConfig(cfg); err != nil {
		return nil, err
	}
	switch {
	case g.loopback || g.tls != nil && g.tls.ClientAuth == tls.RequireAndVerifyClientCert:
	case g.token == nil:
		return nil, fmt.Errorf("%s is not a loopback address, and %w: give a file with a bearer token, or a certificate and the authority of its clients", cfg.Addr, ErrOpen)
	case g.tls == nil:
		cfg.Log.Warn("the bearer token crosses the network readable for all on the way; a certificate prevents that", "http", cfg.Addr)
	}
	return g, nil
}

// isLoopback says whether a host, as an address or a Host header has it, is this machine for itself.
func isLoopback(host string) bool {
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func readToken(path string) (*[sha256.Size]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("bearer token: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("bearer token: every user of this machine may use %s; chmod o= %[1]s", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("bearer token: %w", err)
	}
	token := strings.TrimSpace(string(text))
	if len(token) < minToken || strings.ContainsAny(token, " \t\r\n") {
		return nil, fmt.Errorf("bearer token: %s has to hold one word of at least %d bytes, such as `openssl rand -hex 32` prints", path, minToken)
	}
	sum := sha256.Sum256([]byte(token))
	return &sum, nil
}

func tlsConfig(cfg *Config) (*tls.Config, error) {
	if cfg.CertFile == "" && cfg.KeyFile == "" {
		if cfg.ClientCAFile != "" {
			return nil, errors.New("an authority of clients needs a certificate and a key of this server too")
		}
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.CertFile, cfg.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	out := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	if cfg.ClientCAFile != "" {
		text, err := os.ReadFile(cfg.ClientCAFile)
		if err != nil {
			return nil, fmt.Errorf("authority of clients: %w", err)
		}
		out.ClientCAs, out.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !out.ClientCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("authority of clients: %s holds no certificate", cfg.ClientCAFile)
		}
	}
	return out, nil
}

// protect lets in who may.
func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		switch {
		case g.token != nil:
			word, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			sum := sha256.Sum256([]byte(word))
			if subtle.ConstantTimeCompare(sum[:], g.token[:]) != 1 {
				w.Header().Set("WWW-Authenticate", "Bearer")
				http.Error(w, "a bearer token is asked for, and this is not it", http.StatusUnauthorized)
				return
			}
		case g.loopback && !isLoopback(hostOf(r.Host)):
			http.Error(w, "ask for localhost or an address of it: under another name a web page could read this", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// hostOf is a Host header without its port.
func hostOf(header string) string {
	if host, _, err := net.SplitHostPort(header); err == nil {
		return host
	}
	return header
}
