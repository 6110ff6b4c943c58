package worker

import (
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"ringmaster/glcompute"
	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/embedded"
	"ringmaster/telemetry/natsio/natstest"
)

// TestMain serves main-thread calls, as the command's main function does.
func TestMain(m *testing.M) {
	code := glcompute.Main(m.Run)
	natstest.Remove()
	os.Exit(code)
}

const priorityNormal = 2

var must = natstest.Must

func newLogger(to io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(to, nil)) }

// bus is how a test connects to a server.
func bus(url, name string, log *slog.Logger) natsio.Config {
	cfg := natsio.DefaultConfig()
	cfg.URL, cfg.Name, cfg.Logger = url, name, log
	cfg.Subjects = telemetry.Subjects{Prefix: telemetry.DefaultPrefix}
	return cfg
}

// dial connects to a server.
func dial(t *testing.T, url string, log *slog.Logger) *natsio.Conn {
	t.Helper()
	conn, err := natsio.Connect(bus(url, "test client", log))
	must(t, err)
	t.Cleanup(conn.Close)
	must(t, conn.WaitState(t.Context(), natsio.StateConnected))
	return conn
}

// startServer starts an embedded NATS server.
func startServer(port int, store string) (*embedded.Server, error) {
	cfg := embedded.DefaultConfig()
	cfg.Port, cfg.StoreDir = port, store
	return embedded.Start(cfg)
}

// askStatus asks the runtimes of a server how they are, and returns the first answer.
func askStatus(url string) ([]byte, error) {
	conn, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	answer, err := conn.Request("ringmaster.v1.status", nil, 5*time.Second)
	if err != nil {
		return nil, err
	}
	return answer.Data, nil
}
