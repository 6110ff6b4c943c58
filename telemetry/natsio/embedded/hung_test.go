package embedded

import (
	"bufio"
	"io"
	"net"
	"net/url"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
)

// subscribeAndHang is a client that subscribes and reads nothing from then on.
func subscribeAndHang(t *testing.T, server, subject string) net.Conn {
	t.Helper()
	u, err := url.Parse(server)
	must(t, err)
	conn, err := net.Dial("tcp", u.Host)
	must(t, err)
	_, err = io.WriteString(conn, "CONNECT {\"verbose\":false}\r\nSUB "+subject+" 1\r\nPING\r\n")
	must(t, err)
	for lines := bufio.NewReader(conn); ; {
		line, err := lines.ReadString('\n')
		must(t, err)
		if strings.HasPrefix(line, "PONG") {
			return conn
		}
	}
}

func TestHungSubscriberDoesNotHoldPublishersUp(t *testing.T) {
	s, err := Start(DefaultConfig())
	must(t, err)
	defer s.Shutdown()
	hung := subscribeAndHang(t, s.URL(), "news")
	defer hung.Close() // else the server waits for it to read
	nc, err := nats.Connect(s.URL())
	must(t, err)
	defer closeAndWait(nc)
	payload := make([]byte, 1<<20)
	for range 100 { // half as much again as the server keeps for one subscriber
		must(t, nc.Publish("news", payload))
		must(t, nc.Flush())
	}
	if n := s.srv.NumStalledClients(); n != 0 {
		t.Errorf("the publisher was made to wait %d times", n)
	}
}
