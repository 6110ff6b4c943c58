package main

import (
	"fmt"
	"log/slog"
	"math"
	"path/filepath"

	"ringmaster/megakernel/tuner/cache"
)

// storedRows is how many measurements an entry keeps, the fastest: as many as a
// worker's tuner takes.
const storedRows = 32

// cacheDir is where the tuner's cache is.
func (c *tuneCmd) cacheDir() string {
	if c.CacheDir != "" {
		return c.CacheDir
	}
	return filepath.Join(cacheDir(), "tuner")
}

// tunedEntry is a result in the form of the tuner's cache.
func tunedEntry(t *tuned, key cache.Key) cache.Entry {
	e := cache.Entry{Key: key}
	for i := range t.Rows {
		r := &t.Rows[i]
		g := cache.Geometry(r.geometry())
		if r.Chosen {
			e.Selected = g
		}
		if !r.Chosen && len(e.Measurements) >= storedRows-1 {
			continue
		}
		ns := r.MedianNs / float64(t.Slots)
		e.Measurements = append(e.Measurements, cache.Measurement{
			Geometry: g, Count: uint64(r.Launches), Mean: ns, M2: math.Pow(r.Spread*ns, 2) * float64(r.Launches-1),
		})
	}
	return e
}

// storeTuned keeps a result where the tuner of a worker on this device finds it.
func storeTuned(t *tuned, dir string, r *tuneRing, device gpu, log *slog.Logger) error {
	key := tuneKey(t, r, device)
	c := cache.Open(cache.Options{Dir: dir, Device: deviceIdentity(device), Max: cache.DefaultMax, Delay: cache.DefaultDelay, Log: log})
	<-c.Loaded()
	if err := c.Put(tunedEntry(t, key)); err != nil {
		return fmt.Errorf("tune: %w", err)
	}
	if err := c.Close(); err != nil {
		return fmt.Errorf("tune: the result is not stored: %w", err)
	}
	t.Stored, t.Key = c.Path(), key.String()
	return nil
}

// tuneKey is the key under which a worker's tuner looks for this workload.
func tuneKey(t *tuned, r *tuneRing, device gpu) (key cache.Key) {
	fingerprint := r.stand.Fingerprint(checkWidth)
	return cache.Key(fingerprint)
}

// deviceIdentity names the device and its driver.
func deviceIdentity(device gpu) string {
	vendor, renderer, version := device.Identity()
	return fmt.Sprintf("%s %s %s", vendor, renderer, version)
}
