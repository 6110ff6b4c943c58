package main

import (
	"bytes"
	"errors"
	"fmt"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
)

// What the staging benchmark moves, in bytes: on hardware several times a host's
// caches, on a software renderer little enough for a test machine.
const (
	softwareStagingBytes = 64 << 20
	hardwareStagingBytes = 512 << 20
)

// stagingChunk is what a writer copies at a time, and the device behind it.
const stagingChunk = 1 << 20

// benchStaging moves bytes from Go's memory to a buffer of the device: by a number of writers that fill mapped
// staging memory while the device copies what they have filled, and by buffer updates on the device's
// thread. The best of either side counts. A device that maps nothing has no such rows.
func benchStaging(s *session) error {
	n := hardwareStagingBytes
	if s.device.Info().Software {
		n = softwareStagingBytes
	}
	for _, writers := range []int{1, 2, 4, 8} {
		staged, updates, err := stage(s, n, writers, 5)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		s.row(row{
			Name: fmt.Sprintf("ring/staging/%d writers", writers), Value: staged / 1e9, Unit: "GB/s",
			Yardstick: "buffer updates, same bytes", YardstickValue: updates / 1e9,
		})
	}
	return nil
}

// staging is bytes and the buffers that they go through.
type staging struct {
	*session
	data            []byte
	chunks, writers int
	staging, target gpu.Buffer
}

// stage returns the bytes/s of either way. The error wraps errors.ErrUnsupported where nothing can be mapped.
func stage(s *session, n, writers, runs int) (staged, updates float64, err error) {
	b := staging{session: s, data: make([]byte, n), chunks: n / stagingChunk, writers: writers}
	for i := range b.data {
		b.data[i] = byte(i >> 8) // every page of it is touched before the clock runs
	}
	err = s.device.Do(func() (err error) {
		if b.staging, err = s.device.NewMapped(len(b.data)); err != nil {
			return err
		}
		defer s.device.DeleteBuffer(b.staging)
		if b.target, err = s.device.NewBuffer(len(b.data)); err != nil {
			return err
		}
		defer s.device.DeleteBuffer(b.target)
		if _, err = exactly(1).take(s.ctx, b.staged, b.updates); err != nil { // warms up
			return err
		}
		r, err := exactly(runs).take(s.ctx, b.updates, b.staged)
		if err != nil {
			return err
		}
		staged, updates = r.most(1), r.most(0)
		return b.check()
	})
	return staged, updates, err
}

// chunk is the bytes of one chunk.
func (b *staging) chunk(i int) []byte { return b.data[i*stagingChunk : (i+1)*stagingChunk] }

// staged is the rate through staging. Of w writers each fills every w-th chunk.
func (b *staging) staged() (float64, error) {
	filled := make(chan int, b.chunks)
	begin := time.Now()
	var writers sync.WaitGroup
	for w := range b.writers {
		writers.Go(func() {
			for i := w; i < b.chunks; i += b.writers {
				b.device.StoreMapped(b.staging, i*stagingChunk, b.chunk(i))
				filled <- i
			}
		})
	}
	for range b.chunks {
		i := <-filled
		b.device.CopyBuffer(b.staging, i*stagingChunk, b.target, i*stagingChunk, stagingChunk)
		b.device.Flush()
	}
	b.device.Finish()
	elapsed := time.Since(begin)
	writers.Wait()
	return float64(len(b.data)) / elapsed.Seconds(), b.device.Check()
}

// updates is the rate of buffer updates.
func (b *staging) updates() (float64, error) {
	begin := time.Now()
	for i := range b.chunks {
		b.device.WriteBuffer(b.target, i*stagingChunk, b.chunk(i))
	}
	b.device.Finish()
	return float64(len(b.data)) / time.Since(begin).Seconds(), b.device.Check()
}

// check reads back what the staged side, which ran last, brought.
func (b *staging) check() error {
	got := make([]byte, stagingChunk)
	for _, i := range []int{0, b.chunks / 2, b.chunks - 1} {
		b.device.ReadBuffer(b.target, i*stagingChunk, got)
		if !bytes.Equal(got, b.chunk(i)) {
			return fmt.Errorf("chunk %d of %d did not arrive", i, b.chunks)
		}
	}
	return b.device.Check()
}
