//go:build cgo && linux

package glcompute

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

// newMapped makes a mapped buffer, or skips where the driver has none.
func newMapped(t testing.TB, d *Device, size int) (buffer Buffer) {
	t.Helper()
	if !d.Supports("buffer-storage") {
		missing(t, "no mapped buffers")
	}
	do(t, d, func() (err error) {
		buffer, err = d.NewMapped(size)
		return err
	})
	return buffer
}

func TestMappedBufferIsTheDevicesAndTheHosts(t *testing.T) {
	d := openDevice(t, Config{})
	program, _ := counter(t, d)
	buffer := newMapped(t, d, 1024)
	got := bytes.Repeat([]byte{0xAA}, 1024)
	if d.LoadMapped(buffer, 0, got); !bytes.Equal(got, make([]byte, 1024)) {
		t.Error("a new buffer is not zero")
	}
	data := []byte("from the host")
	d.StoreMapped(buffer, 501, data)
	d.StoreMapped(buffer, 501, nil)
	d.StoreWord(buffer, 256, 1000)
	do(t, d, func() error {
		read := make([]byte, len(data))
		if d.ReadBuffer(buffer, 501, read); !bytes.Equal(read, data) {
			t.Errorf("the device has %q, want %q", read, data)
		}
		d.BindStorage(0, buffer, 256, 8)
		d.SetUniform(program, d.UniformLocation(program, "step"), 3)
		d.Dispatch(program, 2)
		d.Barrier()
		fence := d.InsertFence()
		defer d.DeleteFence(fence)
		done, err := d.WaitFence(fence, 10e9)
		if !done {
			t.Error("the dispatch is not done after 10 s")
		}
		return err
	})
	if n := d.LoadWord(buffer, 256); n != 1000+2*128 {
		t.Errorf("count %d, want %d", n, 1000+2*128)
	}
	var sum [4]byte
	if d.LoadMapped(buffer, 260, sum[:]); binary.LittleEndian.Uint32(sum[:]) != 3*2*128 {
		t.Errorf("sum %v, want %d", sum, 3*2*128)
	}
}

func TestRangeOutsideAMappedBufferPanics(t *testing.T) {
	d := openDevice(t, Config{})
	buffer := newMapped(t, d, 64)
	for name, access := range map[string]func(){
		"store before":   func() { d.StoreMapped(buffer, -1, make([]byte, 4)) },
		"store behind":   func() { d.StoreMapped(buffer, 61, make([]byte, 4)) },
		"load behind":    func() { d.LoadMapped(buffer, 0, make([]byte, 65)) },
		"store overflow": func() { d.StoreMapped(buffer, 1<<63-1, make([]byte, 4)) },
		"word behind":    func() { d.StoreWord(buffer, 64, 1) },
		"word load":      func() { d.LoadWord(buffer, 61) },
		"word misplaced": func() { d.StoreWord(buffer, 2, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			access()
		}()
	}
}

func TestDeletedMappedBufferTakesNothing(t *testing.T) {
	d := openDevice(t, Config{})
	buffer := newMapped(t, d, 64)
	d.StoreWord(buffer, 0, 7)
	do(t, d, func() error { d.DeleteBuffer(buffer); return nil })
	d.StoreMapped(buffer, 0, []byte{1})
	d.StoreWord(buffer, 0, 1)
	got := []byte{9}
	d.LoadMapped(buffer, 0, got)
	if w := d.LoadWord(buffer, 0); w != 0 || got[0] != 9 {
		t.Errorf("word %d, byte %d of a buffer that is gone", w, got[0])
	}
	d.StoreMapped(Buffer{}, 0, []byte{1}) // no buffer at all
	if buffers, _ := d.Live(); buffers != 0 {
		t.Errorf("%d buffers live", buffers)
	}
}

// Goroutines store while the buffer is deleted under them; a store into memory
// that is no longer mapped would end the process.
func TestStoresGoOnWhileMappedBuffersAreDeleted(t *testing.T) {
	d := openDevice(t, Config{})
	var current atomic.Uint32
	current.Store(newMapped(t, d, 1<<16).Buffer)
	stop := make(chan struct{})
	var stores atomic.Int64
	var writers sync.WaitGroup
	for range 4 {
		writers.Go(func() {
			data := bytes.Repeat([]byte{1}, 1<<12)
			for {
				select {
				case <-stop:
					return
				default:
				}
				b := Buffer{Buffer: current.Load()}
				d.StoreMapped(b, 0, data)
				d.StoreWord(b, 1<<15, 2)
				d.LoadMapped(b, 1<<14, data[:64])
				stores.Add(1)
			}
		})
	}
	for range 30 {
		next := newMapped(t, d, 1<<16)
		old := Buffer{Buffer: current.Swap(next.Buffer)}
		for at := stores.Load(); stores.Load() < at+8; {
			d.LoadWord(next, 0)
		}
		do(t, d, func() error { d.DeleteBuffer(old); return nil })
	}
	close(stop)
	writers.Wait()
}

func TestCloseWaitsForStoresAndUnmaps(t *testing.T) {
	d, _, err := Open(Config{})
	if err != nil {
		missing(t, err)
	}
	buffer := newMapped(t, d, 1<<20)
	var writers sync.WaitGroup
	started := make(chan struct{}, 2)
	for range 2 {
		writers.Go(func() {
			data := make([]byte, 1<<20)
			for i := range 50 {
				d.StoreMapped(buffer, 0, data)
				if i == 0 {
					started <- struct{}{}
				}
			}
		})
	}
	<-started
	<-started
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	writers.Wait()
	if buffers, _ := d.Live(); buffers != 0 || len(*d.objects.mapped.Load()) != 0 {
		t.Errorf("%d buffers and %d mappings live after Close", buffers, len(*d.objects.mapped.Load()))
	}
}

func BenchmarkStoreWord(b *testing.B) {
	d := openDevice(b, Config{})
	buffer := newMapped(b, d, 64)
	b.ReportAllocs()
	for b.Loop() {
		d.StoreWord(buffer, 0, 1)
	}
}

func BenchmarkStoreMapped(b *testing.B) {
	d := openDevice(b, Config{})
	buffer := newMapped(b, d, 4<<20)
	data := make([]byte, 1<<20)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		d.StoreMapped(buffer, 0, data)
	}
}

// BenchmarkStoreMappedWriters is eight writers, each with a piece of its own.
func BenchmarkStoreMappedWriters(b *testing.B) {
	const writers, piece = 8, 4 << 20
	d := openDevice(b, Config{})
	buffer := newMapped(b, d, writers*piece)
	data := make([][]byte, writers)
	for i := range data {
		data[i] = bytes.Repeat([]byte{byte(i)}, piece)
	}
	b.SetBytes(writers * piece)
	for b.Loop() {
		var wg sync.WaitGroup
		for i := range data {
			wg.Go(func() { d.StoreMapped(buffer, i*piece, data[i]) })
		}
		wg.Wait()
	}
}

// TestLargeStoresPastTheCachesAreWhole takes the way that hardware's staging is
// filled, by more writers than may at a time, at odd places and sizes.
func TestLargeStoresPastTheCachesAreWhole(t *testing.T) {
	d := openDevice(t, Config{})
	const part, writers = 40 << 10, 2 * streamWriters
	buffer := newMapped(t, d, writers*part)
	m := d.objects.mapping(buffer)
	m.streams = true
	r := rand.New(rand.NewPCG(1, 2))
	want := make([]byte, writers*part)
	for i := range want {
		want[i] = byte(r.Uint32())
	}
	for _, step := range []int{part, 16 << 10, streamBytes + 64, streamBytes + 127, streamBytes + 1, streamBytes - 1} {
		zero := make([]byte, len(want))
		d.StoreMapped(buffer, 0, zero)
		var group sync.WaitGroup
		for w := range writers {
			group.Go(func() {
				for at := 0; at < part; at += step {
					from, to := w*part+at, w*part+min(at+step, part)
					d.StoreMapped(buffer, from, want[from:to])
				}
			})
		}
		group.Wait()
		got := make([]byte, len(want))
		do(t, d, func() error { d.ReadBuffer(buffer, 0, got); return d.Check() })
		if !bytes.Equal(got, want) {
			t.Errorf("stores of %d bytes are not what was stored", step)
		}
		if n := m.streaming.Load(); n != 0 {
			t.Errorf("%d stores under way after all are done", n)
		}
	}
}
