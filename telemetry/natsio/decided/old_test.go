package decided

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio/bustest"
)

// oldServer answers as a NATS server of an earlier version does, as far as that a client connects. No such server
// can be built from this module.
func oldServer(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var all sync.WaitGroup
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer c.Close()
				fmt.Fprintf(c, "INFO {\"server_id\":\"old\",\"version\":\"2.11.9\",\"proto\":1,\"headers\":true,\"max_payload\":1048576,\"jetstream\":true}\r\n")
				for lines := bufio.NewScanner(c); lines.Scan(); {
					if strings.HasPrefix(lines.Text(), "PING") {
						fmt.Fprint(c, "PONG\r\n")
					}
				}
			})
		}
	})
	return "nats://" + l.Addr().String()
}

func TestAnOldServerStoresNothing(t *testing.T) {
	n := newNode(t, oldServer(t))
	if err := Check(bustest.Context(t), n.conn); !errors.Is(err, ErrOldServer) {
		t.Errorf("check: %v", err)
	}
	if line := n.log.wait(t, "decisions are not stored"); !strings.Contains(line, "version 2.11.9") {
		t.Errorf("said %s", line)
	}
	if got := n.store(t, "q", 0, 1); got.how != telemetry.WrittenAway {
		t.Errorf("stored all the same: %+v", got)
	}
}
