package main

import (
	"encoding/hex"
	"errors"
	"log/slog"
	"sync"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/tuner/cache"
	"ringmaster/telemetry/natsio"
)

// tunerFleet shares results with workers that have the same kind of device, through a
// key-value bucket on the bus. Anybody may have written what is there: it passes the same
// checks as a file, and what does not pass is left alone.
type tunerFleet struct {
	results *natsio.Results
	log     *slog.Logger
	warned  sync.Map // devices of which something unsound was warned of
}

// deviceToken names a kind of device in the bucket.
func deviceToken(device string) string {
	sum := blake3.Sum256([]byte(device))
	return hex.EncodeToString(sum[:16])
}

// follow implements sharer.
func (f *tunerFleet) follow(device string, found func(cache.Entry)) {
	err := f.results.Follow(deviceToken(device), func(name string, value []byte) {
		var key cache.Key
		if n, err := hex.Decode(key[:], []byte(name[:min(len(name), 2*len(key))])); err != nil || n != len(key) || len(name) != 2*len(key) {
			f.unsound(device, errors.New("its key is none"))
			return
		}
		e, err := cache.ReadShared(value, device, key)
		if err != nil {
			f.unsound(device, err)
			return
		}
		found(e)
	})
	if err != nil {
		f.log.Warn("tuner results of other workers are not used", "reason", err)
	}
}

// unsound warns of a damaged result of another worker, once for each kind of device.
func (f *tunerFleet) unsound(device string, reason error) {
	if _, again := f.warned.LoadOrStore(device, true); !again {
		f.log.Warn("a tuner's result of another worker is left out; more are not reported", "device", device, "reason", reason)
	}
}

// share implements sharer. What another worker stored stays where this one has
// measured nothing, and altogether if a newer version of this program wrote it.
func (f *tunerFleet) share(device string, e cache.Entry) {
	err := f.results.Share(deviceToken(device), e.Key.String(), func(stored []byte) []byte {
		if stored == nil {
			return e.Shared(device)
		}
		theirs, err := cache.ReadShared(stored, device, e.Key)
		if errors.Is(err, cache.ErrNewer) {
			return nil
		}
		if err == nil {
			merged := e.Merged(&theirs)
			if value := merged.Shared(device); len(value) <= natsio.MaxResultBytes {
				return value
			}
		}
		return e.Shared(device)
	})
	if err != nil {
		f.log.Warn("a tuner's result is not shared", "reason", err)
	}
}
