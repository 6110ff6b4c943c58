package embedded

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// reopenPause is the time between a failed write and the attempt to open the
	// streams again, and between two attempts.
	reopenPause = 3 * time.Second
	// reopenProbe is how many bytes the disk must take before that: less room
	// would be full again at once.
	reopenProbe = 1 << 20
)

// writeFailures are parts of what the server logs when a stream or a consumer
// stops taking anything. The log is the only place that says so: the server's health
// check and its statistics go on as before.
var writeFailures = []string{"critical write error", "resources, will be disabled"}

// reopener opens the streams again after a write failed. A stream that could not
// write once refuses everything until its server starts JetStream anew, also when
// the disk has room, and an embedded server has nobody else who does that.
type reopener struct {
	srv    *server.Server
	log    *serverLog
	config server.JetStreamConfig
	store  string
	quit   chan struct{}
	done   sync.WaitGroup
}

// startReopener begins to look after a server that has started.
func startReopener(srv *server.Server, log *serverLog, pause time.Duration) *reopener {
	r := &reopener{srv: srv, log: log, config: *srv.JetStreamConfig(), quit: make(chan struct{})}
	r.store = r.config.StoreDir
	r.config.StoreDir = filepath.Dir(r.store) // EnableJetStream appends the last element itself
	r.done.Go(func() { r.run(pause) })
	return r
}

// stop returns when the goroutine has ended.
func (r *reopener) stop() {
	close(r.quit)
	r.done.Wait()
}

func (r *reopener) run(pause time.Duration) {
	for {
		select {
		case <-r.log.broken:
		case <-r.quit:
			return
		}
		for reopened := false; !reopened; {
			select {
			case <-time.After(pause):
			case <-r.quit:
				return
			}
			reopened = r.reopen()
		}
	}
}

// reopen starts JetStream anew if there is room. Connections stay.
func (r *reopener) reopen() bool {
	if err := probeRoom(r.store); err != nil {
		r.log.log.Error("a stream could not write, and takes nothing until it can", "store", r.store, "error", err)
		return false
	}
	select {
	case <-r.log.broken: // of the failure that is about to end
	default:
	}
	begin, config := time.Now(), r.config // EnableJetStream changes its argument
	err := r.srv.ShutdownJetStream()
	if err == nil {
		err = r.srv.EnableJetStream(&config)
	}
	if err != nil {
		r.log.log.Error("a stream could not write, and the streams cannot be opened again", "store", r.store, "error", err)
		return false
	}
	r.log.log.Warn("the streams are open again, after one of them could not write", "store", r.store, "took", time.Since(begin))
	return true
}

// probeRoom writes a file to a directory and removes it.
func probeRoom(dir string) error {
	f, err := os.CreateTemp(dir, "room-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err = f.Write(make([]byte, reopenProbe)); err == nil {
		err = f.Sync()
	}
	return err
}

// notice looks for a write failure in a line of the server's log.
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
