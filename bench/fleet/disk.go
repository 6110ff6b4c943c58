package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diskBytes is the size of a server's own file system. The streams of a run are within it; only what is used takes memory.
const diskBytes = 2 << 30

// disk is a small file system of a server's own, for the directory of its store. It takes root.
type disk struct{ dir string }

func newDisk(dir string) (*disk, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", diskBytes)); err != nil {
		return nil, fmt.Errorf("mount a tmpfs at %s: %w; --disks takes root", dir, err)
	}
	return &disk{dir}, nil
}

// filler is a file that takes all that is free.
func (d *disk) filler() string { return filepath.Join(d.dir, "filler") }

// fill leaves no room, until free.
func (d *disk) fill() error {
	file, err := os.Create(d.filler())
	if err != nil {
		return err
	}
	defer file.Close()
	const page = 4096
	offset := int64(0)
	for n := int64(diskBytes); n >= page; { // the halves of what does not fit, down to the last page
		switch err := syscall.Fallocate(int(file.Fd()), 0, offset, n); err {
		case nil:
			offset += n
		case syscall.ENOSPC:
			n /= 2
		case syscall.EINTR:
		default:
			return fmt.Errorf("fill %s: %w", d.dir, err)
		}
	}
	return nil
}

func (d *disk) free() error { return os.Remove(d.filler()) }

func (d *disk) close() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) }
