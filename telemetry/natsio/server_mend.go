package natsio

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// A stream that could not write once refuses everything until it is opened again, also when the disk has
// room. An embedded server has nobody who starts it again, so it opens its streams itself, as soon as mendProbe
// bytes can be written, at the earliest after mendPause. That interrupts all streams for a moment, so for one
// that goes on failing it happens ever less often, up to mendLongest apart.
const (
	mendProbe   = 1 << 20
	mendPause   = 5 * time.Second
	mendLongest = 5 * time.Minute
)

// writeFailures are parts of what the server's log says when a stream or a consumer stops taking anything.
var writeFailures = []string{"critical write error", "resources, will be disabled"}

// mender opens the streams of a server again after one of them could not write.
type mender struct {
	srv    *server.Server
	log    *serverLog
	config server.JetStreamConfig
	store  string
	pause  time.Duration
	quit   chan struct{}
	under  sync.WaitGroup
}

// startMender begins to look after a server that has started. Its config has the directory as EnableJetStream
// takes it, which appends a name of its own.
func startMender(srv *server.Server, log *serverLog, pause time.Duration) *mender {
	m := &mender{srv: srv, log: log, pause: pause, quit: make(chan struct{})}
	m.config = *srv.JetStreamConfig()
	m.store = m.config.StoreDir
	m.config.StoreDir = filepath.Dir(m.store)
	m.under.Go(m.run)
	return m
}

// stop returns when the mender has ended.
func (m *mender) stop() {
	close(m.quit)
	m.under.Wait()
}

func (m *mender) run() {
	pace := mendPace{least: m.pause}
	for {
		select {
		case <-m.log.broken:
		case <-m.quit:
			return
		}
		pause := pace.next(time.Now())
		for mended := false; !mended; pause = m.pause {
			select {
			case <-time.After(pause):
			case <-m.quit:
				return
			}
			mended = m.mend()
		}
		pace.mended = time.Now()
	}
}

// mendPace is how long streams that fail wait.
type mendPace struct {
	least, pause time.Duration
	mended       time.Time // when they were opened last
}

// next is the pause after a failure: twice the one before, unless that was long ago.
func (p *mendPace) next(now time.Time) time.Duration {
	p.pause = min(max(2*p.pause, p.least), mendLongest)
	if now.Sub(p.mended) > 2*mendLongest {
		p.pause = p.least
	}
	return p.pause
}

// mend opens the streams again, if there is room for what comes.
func (m *mender) mend() bool {
	if err := probeRoom(m.store); err != nil {
		m.log.log.Error("a stream could not write, and takes nothing until it can", "store", m.store, "error", err)
		return false
	}
	select {
	case <-m.log.broken: // of the same failure
	default:
	}
	begin := time.Now()
	config := m.config // EnableJetStream changes it
	err := m.srv.ShutdownJetStream()
	if err == nil {
		err = m.srv.EnableJetStream(&config)
	}
	if err != nil {
		m.log.log.Error("a stream could not write, and the streams cannot be opened again", "store", m.store, "error", err)
		return false
	}
	m.log.log.Warn("the streams are open again, after one of them could not write", "store", m.store, "took", time.Since(begin))
	return true
}

// probeRoom writes a file to a directory and removes it.
func probeRoom(dir string) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return fmt.Errorf("natsio: server: %w", err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(make([]byte, mendProbe)); err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("natsio: server: %w", err)
	}
	return nil
}

// notice looks at a line of the server's log for a stream that takes nothing more.
func (l *serverLog) notice(format string) {
	line := strings.ToLower(format)
	for _, failure := range writeFailures {
		if strings.Contains(line, failure) {
			select {
			case l.broken <- struct{}{}:
			default:
			}
		}
	}
}
