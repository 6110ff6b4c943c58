//go:build cgo && linux

package kernelcache

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"ringmaster/glcompute"
	"ringmaster/glcompute/gltest"
	"ringmaster/megakernel/gpu"
	"ringmaster/megakernel/kernelcache/disk"
	"ringmaster/megakernel/texttest"
)

// openGL opens a device and a second one beside it.
func openGL(t *testing.T) (device, beside *glcompute.Device) {
	t.Helper()
	device = gltest.Open(t)
	return device, gltest.Beside(t, device)
}

// family makes kernels that no cache of the driver has seen: each run of a test has
// another nonce.
type family struct{ nonce string }

func newFamily() family { return family{rand.Text()} }

// widthKernel writes its width and takes long to compile. The value of its program is the
// location of the uniform off. Its first dispatch has off = 1, so that it writes nothing.
type widthKernel struct {
	family
	width uint32
}

func (k widthKernel) String() string { return fmt.Sprintf("test-%d", k.width) }

func (k widthKernel) Source() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#version 430 core\nlayout(local_size_x = %d) in;\n", k.width)
	b.WriteString("layout(std430, binding = 0) buffer Out { uint values[]; };\nuniform uint off;\nvoid main() {\n    uint v = gl_LocalInvocationID.x;\n")
	nonce := []byte(k.nonce)
	for i := range 60 {
		fmt.Fprintf(&b, "    if ((v & %du) == off + 4096u) v = v * %du + values[v & 3u];\n", i*7+1, int(nonce[i%len(nonce)])*2+1)
	}
	fmt.Fprintf(&b, "    if (off == 0u) values[0] = %du; else if (v == 77u) values[1] = v;\n}\n", k.width)
	return b.String()
}

func (k widthKernel) Adopt(dev gpu.Device, program gpu.Program, idle *Idle) (any, error) {
	if got := dev.ProgramWorkgroupSize(program); got[0] != k.width {
		return nil, fmt.Errorf("width %d, want %d", got[0], k.width)
	}
	if _, err := idle.Bind(1, 64); err != nil {
		return nil, err
	}
	off := dev.UniformLocation(program, "off")
	dev.SetUniform(program, off, 1)
	dev.Dispatch(program, 1)
	return off, nil
}

// widths is a store of the kernels of a family, by their widths.
type widths struct {
	*Store
	family
}

func (s *widths) Get(width uint32) (*Program, bool) { return s.Store.Get(widthKernel{s.family, width}) }

func (s *widths) Wait(ctx context.Context, width uint32) (*Program, error) {
	return s.Store.Wait(ctx, widthKernel{s.family, width})
}

func (f family) open(t *testing.T, beside *glcompute.Device, dir *disk.Dir, log *texttest.Log) *widths {
	t.Helper()
	cfg := DefaultConfig()
	cfg.Log = slog.New(slog.NewTextHandler(log, nil))
	cfg.Disk = dir
	s := Open(cfg, Target{Device: beside, Background: true})
	t.Cleanup(func() {
		s.Close()
		if buffers, programs := beside.Live(); buffers != 0 || programs != 0 {
			t.Errorf("%d buffers and %d programs are left", buffers, programs)
		}
	})
	return &widths{s, f}
}

// launch runs a program on the main device and gives what it wrote.
func launch(t *testing.T, device *glcompute.Device, p *Program) (width uint32, took time.Duration) {
	t.Helper()
	begin := time.Now()
	err := device.Do(func() error {
		buffer, err := device.NewBuffer(64)
		if err != nil {
			return err
		}
		defer device.DeleteBuffer(buffer)
		device.BindStorage(0, buffer, 0, 64)
		device.SetUniform(p.ID, p.Value.(int32), 0)
		device.Dispatch(p.ID, 1)
		device.Barrier()
		out := make([]byte, 4)
		device.ReadBuffer(buffer, 0, out)
		width = binary.LittleEndian.Uint32(out)
		return device.Check()
	})
	if err != nil {
		t.Fatal(err)
	}
	return width, time.Since(begin)
}

// TestLaunchesGoOnWhileAnotherWidthIsBuilt: with the program of one width, launches
// run until the other is ready, which is then used.
func TestLaunchesGoOnWhileAnotherWidthIsBuilt(t *testing.T) {
	device, beside := openGL(t)
	s := newFamily().open(t, beside, nil, &texttest.Log{})
	begin := time.Now()
	old, err := s.Wait(t.Context(), 32)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release(old)
	built := time.Since(begin)
	first, took := launch(t, device, old)
	if first != 32 {
		t.Fatalf("ran at width %d", first)
	}
	t.Logf("built in %v, first launch on the main device %v", built, took)

	launches, longest := 0, time.Duration(0)
	for {
		p, ok := s.Get(64)
		if ok {
			width, took := launch(t, device, p)
			s.Release(p)
			if width != 64 {
				t.Errorf("ran at width %d after 64 was ready", width)
			}
			t.Logf("%d launches meanwhile, the longest %v; first launch of the new program %v", launches, longest, took)
			break
		}
		if err := s.Failing(widthKernel{s.family, 64}); err != nil {
			t.Fatal(err)
		}
		width, took := launch(t, device, old)
		if width != 32 {
			t.Fatalf("ran at width %d", width)
		}
		launches++
		longest = max(longest, took)
	}
	if launches == 0 {
		t.Error("no launch ran while the program was built")
	}
}

func TestSecondProcessCompilesNothingAndADamagedBinaryIsRebuilt(t *testing.T) {
	device, beside := openGL(t)
	if !beside.Supports("program-binary") {
		t.Fatal("the driver has no program binaries; on Mesa, its shader cache has to be writable")
	}
	k := newFamily()
	dir := openDisk(t)
	widths := []uint32{32, 64, 128}
	run := func(what string, built, loaded, refused uint64) {
		t.Helper()
		log := &texttest.Log{}
		s := k.open(t, beside, dir, log)
		for _, width := range widths {
			s.Prefetch(widthKernel{k, width})
		}
		begin := time.Now()
		for _, width := range widths {
			p, err := s.Wait(context.Background(), width)
			if err != nil {
				t.Fatal(err)
			}
			if got, _ := launch(t, device, p); got != width {
				t.Errorf("%s: ran at %d, want %d", what, got, width)
			}
			s.Release(p)
		}
		st := s.Stats()
		t.Logf("%+v: %v, %+v", what, time.Since(begin), st)
		if st.Built != built || st.Loaded != loaded || st.Refused != refused || len(log.Take()) != int(refused) {
			t.Errorf("%s: %+v, want %d built, %d loaded, %d refused with a line each", what, st, built, loaded, refused)
		}
		s.Close()
	}
	run("first start", 3, 0, 0)
	run("second start", 0, 3, 0)
	overwrite(t, files(t, dir)[0], 200)
	run("one damaged", 1, 2, 1)
	run("after that", 0, 3, 0)
}

// TestBinaryOfAnotherFormIsRefusedByTheDriver: the file is whole and the driver
// does not want it.
func TestBinaryOfAnotherFormIsRefusedByTheDriver(t *testing.T) {
	_, beside := openGL(t)
	k, dir, log := newFamily(), openDisk(t), &texttest.Log{}
	source := widthKernel{k, 32}.Source()
	vendor, renderer, version := beside.Identity()
	name := disk.NameOf(vendor, renderer, version, source)
	err := beside.Do(func() error {
		id, err := beside.CompileCompute(source)
		if err != nil {
			return err
		}
		defer beside.DeleteProgram(id)
		format, data, err := beside.ProgramBinary(id)
		if err != nil {
			return err
		}
		// Mesa's binaries begin with the driver's own identity.
		for i := range min(len(data), 64) {
			data[i] ^= 0xff
		}
		return dir.Store(name, disk.Binary{Format: format, Data: data})
	})
	if err != nil {
		t.Fatal(err)
	}
	s := k.open(t, beside, dir, log)
	p, err := s.Wait(t.Context(), 32)
	if err != nil {
		t.Fatal(err)
	}
	s.Release(p)
	if st := s.Stats(); st.Refused != 1 || st.Built != 1 || p.FromDisk {
		t.Errorf("%+v", st)
	}
	if lines := log.Take(); len(lines) != 1 || !strings.Contains(lines[0], "test-32") {
		t.Errorf("log %q, want one line", lines)
	}
}
