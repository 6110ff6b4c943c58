package megakernel

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"ringmaster/megakernel/gpu"
	"ringmaster/ring"
)

// StagingResult is how fast slots get from Go's memory to the device's.
type StagingResult struct {
	Writers int
	Staged  float64 // bytes/s through mapped staging and a copy by the device, the copies in Go included
	Updates float64 // bytes/s of buffer updates alone, the way without mapped memory
}

// stagingChunk is what a writer copies at a time, and the device behind it.
const stagingChunk = 1 << 20

// StagingBench moves bytes, rounded down to whole MiB, from one Go slice to a
// buffer of the device: by a number of writers that fill mapped staging memory
// while the device copies what they have filled, and by buffer updates on the
// device's thread. Both runs times in turn, the best of each counts. Where
// nothing can be mapped, the error wraps errors.ErrUnsupported.
func StagingBench(dev gpu.Device, bytes, writers, runs int) (StagingResult, error) {
	chunks := bytes / stagingChunk
	if chunks < 1 || writers < 1 || runs < 1 {
		return StagingResult{}, fmt.Errorf("megakernel: bench: %d bytes, %d writers, %d runs", bytes, writers, runs)
	}
	source := make([]ring.Slot, chunks*stagingChunk/ring.SlotBytes)
	for i := range source {
		source[i].Sequence = uint32(i) // every page of it is touched before the clock runs
	}
	b := stagingBench{dev: dev, data: bytesOf(source), chunks: chunks, writers: writers}
	result := StagingResult{Writers: writers}
	err := dev.Do(func() (err error) {
		if b.staging, err = dev.NewMapped(len(b.data)); err != nil {
			return fmt.Errorf("megakernel: bench: %w", err)
		}
		defer dev.DeleteBuffer(b.staging)
		if b.target, err = dev.NewBuffer(len(b.data)); err != nil {
			return fmt.Errorf("megakernel: bench: %w", err)
		}
		defer dev.DeleteBuffer(b.target)
		for range runs + 1 { // the first warms up
			staged, err := b.staged()
			if err != nil {
				return err
			}
			updates, err := b.updates()
			if err != nil {
				return err
			}
			result.Staged, result.Updates = max(result.Staged, staged), max(result.Updates, updates)
		}
		return b.check()
	})
	return result, err
}

type stagingBench struct {
	dev             gpu.Device
	data            []byte
	chunks, writers int
	staging, target gpu.Buffer
}

// chunk is the bytes of one chunk.
func (b *stagingBench) chunk(i int) []byte { return b.data[i*stagingChunk : (i+1)*stagingChunk] }

// staged is the rate through staging. Writers take every so manieth chunk.
func (b *stagingBench) staged() (float64, error) {
	filled := make(chan int, b.chunks)
	begin := time.Now()
	var writers sync.WaitGroup
	for w := range b.writers {
		writers.Go(func() {
			for i := w; i < b.chunks; i += b.writers {
				b.dev.StoreMapped(b.staging, i*stagingChunk, b.chunk(i))
				filled <- i
			}
		})
	}
	for range b.chunks {
		i := <-filled
		b.dev.CopyBuffer(b.staging, i*stagingChunk, b.target, i*stagingChunk, stagingChunk)
		b.dev.Flush()
	}
	b.dev.Finish()
	elapsed := time.Since(begin)
	writers.Wait()
	return float64(len(b.data)) / elapsed.Seconds(), b.dev.Check()
}

// updates is the rate of buffer updates.
func (b *stagingBench) updates() (float64, error) {
	begin := time.Now()
	for i := range b.chunks {
		b.dev.WriteBuffer(b.target, i*stagingChunk, b.chunk(i))
	}
	b.dev.Finish()
	return float64(len(b.data)) / time.Since(begin).Seconds(), b.dev.Check()
}

// check reads back what arrived.
func (b *stagingBench) check() error {
	if _, err := b.staged(); err != nil {
		return err
	}
	got := make([]byte, stagingChunk)
	for _, i := range []int{0, b.chunks / 2, b.chunks - 1} {
		b.dev.ReadBuffer(b.target, i*stagingChunk, got)
		if !slices.Equal(got, b.chunk(i)) {
			return fmt.Errorf("megakernel: bench: chunk %d of %d did not arrive", i, b.chunks)
		}
	}
	return b.dev.Check()
}
