package tuned

import (
	"encoding/hex"
	"errors"

	"github.com/zeebo/blake3"

	"ringmaster/megakernel/tuner/cache"
	"ringmaster/telemetry/natsio"
)

// Bucket is where workers share results: natsio.Results. Nothing of it waits for the
// server.
type Bucket interface {
	Follow(device string, found func(key string, value []byte)) error
	Share(device, key string, merge func(stored []byte) []byte) error
}

// Share lets results pass to and from the workers with the same kind of device, from the
// kinds on that are opened after it.
func (m *Memory) Share(b Bucket) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bucket = b
}

// deviceToken names a kind of device in the bucket.
func deviceToken(device string) string {
	sum := blake3.Sum256([]byte(device))
	return hex.EncodeToString(sum[:16])
}

// follow begins to take over what others share for a kind of device. m.mu is held.
func (m *Memory) follow(device string) {
	err := m.bucket.Follow(deviceToken(device), func(name string, value []byte) {
		var key cache.Key
		if n, err := hex.Decode(key[:], []byte(name[:min(len(name), 2*len(key))])); err != nil || n != len(key) || len(name) != 2*len(key) {
			m.unsound(device, errors.New("its key is none"))
			return
		}
		e, err := cache.ReadShared(value, device, key)
		if err != nil {
			m.unsound(device, err)
			return
		}
		m.learn(device, e)
	})
	if err != nil {
		m.log.Warn("tuner results of other workers are not used", "error", err)
	}
}

// unsound warns of a damaged result of another worker, once for each kind of device.
func (m *Memory) unsound(device string, reason error) {
	if _, again := m.warned.LoadOrStore(device, true); !again {
		m.log.Warn("a tuner's result of another worker is left out; more are not reported", "device", device, "error", reason)
	}
}

// share sends an entry. What another worker stored stays where this one has
// measured nothing, and altogether if a newer version of this program wrote it.
func (m *Memory) share(bucket Bucket, device string, e cache.Entry) {
	err := bucket.Share(deviceToken(device), e.Key.String(), func(stored []byte) []byte {
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
		m.log.Warn("a tuner's result is not shared", "error", err)
	}
}
