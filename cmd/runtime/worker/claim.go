package worker

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/zeebo/blake3"

	"ringmaster/cmd/runtime/text"
	"ringmaster/glcompute"
)

// Claim is what `run` holds while it serves. It keeps a second `run` from serving the
// same worker, and another worker from using the same GPU unless it shares. It
// consists of locks on files of the user, which end with the process however it ends.
type Claim struct{ files []*os.File }

// ClaimWorker takes the claim of a worker on a device. Workers of the same name on
// different buses have nothing to do with each other; if bus is empty, no other
// process can be on it. share allows other workers on the device. Where no file can be
// locked, on a disk that is read-only, the worker serves without: the bus tells of two of a name too.
func ClaimWorker(dir, worker, bus string, info glcompute.Info, share bool, log *slog.Logger) (*Claim, error) {
	c := &Claim{}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		log.Warn("cannot tell whether another process serves this worker or uses the device; $XDG_STATE_HOME names another directory for locks", "error", err)
		return c, nil
	}
	device := text.Token(info.Renderer)
	if id := info.Capabilities.DeviceUUID; id != "" {
		device = id
	}
	holder := fmt.Sprintf("worker %s on %s, process %d", worker, info.Renderer, os.Getpid())
	if bus != "" {
		// Names of servers can be long and contain passwords, so the file's name has their hash.
		id := blake3.Sum256([]byte(worker + "\n" + bus + "\n" + device))
		other, err := c.lock(filepath.Join(dir, fmt.Sprintf("worker-%x.lock", id[:8])), holder)
		if err != nil {
			log.Warn("cannot tell whether another process serves this worker", "error", err)
		}
		if other != "" {
			return nil, fmt.Errorf("this worker is served already (%s); stop that process, or give this one another --worker or --device", other)
		}
	}
	if info.Software {
		return c, nil // the CPU is shared anyway
	}
	other, err := c.lock(filepath.Join(dir, "device-"+device+".lock"), holder)
	switch {
	case err != nil:
		log.Warn("cannot tell whether another worker uses the device", "error", err)
	case other != "" && !share:
		c.Release()
		return nil, fmt.Errorf("another worker uses the same GPU (%s); give this one another --device, as `ringmaster doctor` lists them, or --share-device", other)
	case other != "":
		log.Warn("another worker uses the same GPU: each slows the other down and measures it; `ringmaster doctor` lists the devices for --device", "other", other)
	}
	return c, nil
}

// ClaimStore takes the directory of an embedded server's streams. One that cannot be locked is for the server to
// refuse.
func ClaimStore(dir, holder string) (*Claim, error) {
	c := &Claim{}
	if os.MkdirAll(dir, 0o700) != nil {
		return c, nil
	}
	other, err := c.lock(filepath.Join(dir, "ringmaster.lock"), fmt.Sprintf("%s, process %d", holder, os.Getpid()))
	if err == nil && other != "" {
		return nil, fmt.Errorf("the streams in %s are in use (%s); name another directory with --store, or connect to that server with --nats", dir, other)
	}
	return c, nil
}

// lock locks a file and writes the holder into it. If another process holds the lock,
// other is what that process wrote.
func (c *Claim) lock(path, holder string) (other string, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return "", err
	}
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); errors.Is(err, syscall.EWOULDBLOCK) {
		defer f.Close()
		holder, _ := io.ReadAll(io.LimitReader(f, 1<<10))
		if other = strings.TrimSpace(string(holder)); other == "" {
			other = "by a process that does not say which it is"
		}
		return other, nil
	}
	if err != nil {
		f.Close()
		return "", fmt.Errorf("%s: %w", path, err)
	}
	// The lock is what counts: on a full disk whoever finds it is not told whose it is.
	if f.Truncate(0) == nil {
		_, _ = f.WriteString(holder + "\n")
	}
	c.files = append(c.files, f)
	return "", nil
}

// Release gives the claim back.
func (c *Claim) Release() {
	for _, f := range c.files {
		f.Close()
	}
}

// DiskSpace is what the file system of a directory has left for others than root, and its size, in bytes.
func DiskSpace(dir string) (free, all uint64, err error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("space of %s: %w", dir, err)
	}
	return s.Bavail * uint64(s.Bsize), s.Blocks * uint64(s.Bsize), nil
}

// TryDisk tries whether a directory takes a file.
func TryDisk(dir string) error {
	f, err := os.CreateTemp(dir, "doctor-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(make([]byte, 64<<10))
	return errors.Join(err, f.Sync(), f.Close())
}
