package admin

import (
	"net"
	"sync"
)

// limited is a listener with a bound on its open connections. Those beyond it are closed as they come: whoever waits in
// the queue of a full server cannot be told from one that is dead.
type limited struct {
	net.Listener
	places chan struct{}
}

func newLimited(l net.Listener, most int) *limited { return &limited{l, make(chan struct{}, most)} }

// Accept returns the next connection that finds a place.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.places <- struct{}{}:
			return &placed{Conn: c, leave: sync.OnceFunc(func() { <-l.places })}, nil
		default:
			_ = c.Close()
		}
	}
}

// placed gives its place back when it is closed.
type placed struct {
	net.Conn
	leave func()
}

func (p *placed) Close() error {
	p.leave()
	return p.Conn.Close()
}
