package oversight

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"ringmaster/cmd/runtime/explain"
	"ringmaster/cmd/runtime/explain/ask"
	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/fleetview/listen"
	"ringmaster/telemetry/natsio"
)

// unwatched is how long the bus is listened to after the last look: each look costs the fleet an answer of every
// process, so nobody listens for nobody.
const unwatched = 15 * time.Minute

// viewer is what the pages look at. It listens from the first look on, while somebody looks.
type viewer struct {
	conn *natsio.Conn
	log  *slog.Logger

	mu       sync.Mutex
	listener *listen.Listener
	idle     *time.Timer
	closed   bool
}

// listening is the listener; nil if there is none.
func (v *viewer) listening() *listen.Listener {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.closed {
		return nil
	}
	if v.listener == nil {
		l, err := listen.Start(v.conn, listen.Config{})
		if err != nil {
			v.log.Warn("the bus cannot be listened to for the pages", "error", err)
			return nil
		}
		v.listener = l
		v.idle = time.AfterFunc(unwatched, v.leave)
	}
	v.idle.Reset(unwatched)
	return v.listener
}

// leave listens no more until somebody looks again.
func (v *viewer) leave() {
	v.mu.Lock()
	l := v.listener
	v.listener = nil
	v.mu.Unlock()
	if l != nil {
		l.Close()
	}
}

// close listens never again.
func (v *viewer) close() {
	v.mu.Lock()
	v.closed = true
	if v.idle != nil {
		v.idle.Stop()
	}
	v.mu.Unlock()
	v.leave()
}

// Look is what was heard.
func (v *viewer) Look() fleetview.Snapshot {
	if l := v.listening(); l != nil {
		return l.Look()
	}
	return fleetview.Snapshot{At: time.Now()}
}

// Detail is what was heard of one queue.
func (v *viewer) Detail(worker, queue string) (fleetview.Detail, bool) {
	if l := v.listening(); l != nil {
		return l.Detail(worker, queue)
	}
	return fleetview.Detail{}, false
}

func (v *viewer) explain(ctx context.Context, worker, queue string, decision uint64) (explain.Explanation, error) {
	return ask.Queue(ctx, v.conn, worker, queue, ask.When{Number: decision})
}
