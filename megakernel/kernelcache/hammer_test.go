package kernelcache

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
)

// TestHammer has many goroutines use, wait for and prefetch more programs than the
// store keeps. The fake device panics when a program is deleted twice; each user
// checks that what it holds is alive.
func TestHammer(t *testing.T) {
	dev := newFake()
	w := openWorld(t, dev, true, func(c *Config) { c.Programs, c.Queue = 4, 6 })
	var users sync.WaitGroup
	for user := range 8 {
		users.Go(func() {
			r := rand.New(rand.NewPCG(uint64(user), 0))
			for range 400 {
				key := strconv.Itoa(r.IntN(10))
				var p *Program
				switch r.IntN(4) {
				case 0:
					w.Prefetch(key, strconv.Itoa(r.IntN(10)))
					continue
				case 1:
					p, _ = w.Wait(t.Context(), key)
				default:
					p, _ = w.Get(key)
				}
				if p == nil {
					continue
				}
				dev.mu.Lock()
				source := dev.live[p.ID]
				dev.mu.Unlock()
				if source != "source of "+key || p.Value != key {
					t.Errorf("held %s, the device has %q", key, source)
				}
				w.Release(p)
			}
		})
	}
	users.Wait()
	if st := w.Stats(); st.Ready > 4 || st.Held != 0 || st.Evicted == 0 {
		t.Errorf("%+v", st)
	}
	w.close(t)
}
