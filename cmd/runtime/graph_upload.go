package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// Bounds of files that are being sent to a worker.
const (
	maxGraphFile   = 256 << 20 // bytes of one
	maxUploads     = 8
	maxQueueFiles  = 4         // of them for one queue
	maxUploadBytes = 512 << 20 // of all, each counted whole from its first part on

	// uploadPatience is how long the next part of a file may take. A live client sends it as
	// soon as the previous one was answered.
	uploadPatience = time.Minute
)

// uploadKey names a file that is being sent: a graph has at most one of each kind.
type uploadKey struct {
	graphKey
	kind string
}

// graphUpload is a file that is being sent.
type graphUpload struct {
	total    uint64
	parts    net.Buffers // given away with the last one
	got      uint64      // bytes that came
	whole    bool        // is read, and put on the device
	bytes    uint64      // of the device, that it is going to take
	deadline time.Time   // of the next part
	timer    *time.Timer
}

// part keeps a part of a file. With the last part it returns the whole file, and done, which
// the caller calls when the file has been used.
func (s *graphStore) part(ctx context.Context, key uploadKey, r *telemetry.Resident) (file io.Reader, done func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.uploads[key]
	switch {
	case r.Total > maxGraphFile:
		return nil, nil, fmt.Errorf("%w: a file of %d bytes; %d may come over NATS", natsio.ErrGraphTooLarge, r.Total, maxGraphFile)
	case u != nil && u.whole:
		return nil, nil, fmt.Errorf("%w: a file for graph %s of queue %s is being loaded", natsio.ErrGraphBusy, key.name, key.queue)
	case r.Offset == 0:
		if u, err = s.beginUpload(key, r.Total); err != nil {
			return nil, nil, err
		}
	case u == nil && s.late[key]:
		return nil, nil, fmt.Errorf("%w: the part at %d comes too late: the parts before it were dropped after %v without another; begin again", natsio.ErrGraphRequest, r.Offset, uploadPatience)
	case u == nil || r.Offset != u.got || r.Total != u.total:
		return nil, nil, fmt.Errorf("%w: the part at %d follows nothing; another upload took its place, begin again", natsio.ErrGraphRequest, r.Offset)
	}
	if u.got+uint64(len(r.Data)) > u.total {
		return nil, nil, fmt.Errorf("%w: parts of %d bytes for a file of %d", natsio.ErrGraphRequest, u.got+uint64(len(r.Data)), u.total)
	}
	u.keep(r.Data)
	if u.got < u.total {
		u.deadline = time.Now().Add(uploadPatience)
		u.timer.Reset(uploadPatience)
		return nil, nil, nil
	}
	u.timer.Stop()
	u.whole = true
	file, u.parts = &uploaded{ctx, u.parts}, nil
	return file, func() { s.update(func() { delete(s.uploads, key) }) }, nil
}

// keep appends a part. Small parts are merged, so that a file that arrives byte by byte takes
// no more memory than any other.
func (u *graphUpload) keep(data []byte) {
	u.got += uint64(len(data))
	if last := len(u.parts) - 1; last >= 0 && len(u.parts[last])+len(data) <= telemetry.MaxGraphPart {
		u.parts[last] = append(u.parts[last], data...)
		return
	}
	u.parts = append(u.parts, bytes.Clone(data))
}

// beginUpload makes room for a file; it replaces one that was not complete. Called with mu
// held.
func (s *graphStore) beginUpload(key uploadKey, total uint64) (*graphUpload, error) {
	if old := s.uploads[key]; old != nil {
		old.timer.Stop()
		delete(s.uploads, key)
	}
	held, own := total, 0
	for k, other := range s.uploads {
		held += other.total
		if k.queue == key.queue {
			own++
		}
	}
	if len(s.uploads) >= maxUploads || own >= maxQueueFiles || held > maxUploadBytes {
		return nil, fmt.Errorf("%w: %d files of %d bytes are on their way, %d of them of queue %s; a worker takes %d, of one queue %d, of %d bytes; try again when some are here",
			natsio.ErrGraphBusy, len(s.uploads), held-total, own, key.queue, maxUploads, maxQueueFiles, maxUploadBytes)
	}
	delete(s.late, key)
	u := &graphUpload{total: total}
	u.timer = time.AfterFunc(uploadPatience, func() { s.abandon(key, u) })
	s.uploads[key] = u
	return u, nil
}

// abandon drops the parts of a file whose next part has not come in time.
func (s *graphStore) abandon(key uploadKey, u *graphUpload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.uploads[key] != u || u.whole || time.Now().Before(u.deadline) {
		return
	}
	delete(s.uploads, key)
	if len(s.late) >= maxGraphs { // those of long ago are told that their part follows nothing
		clear(s.late)
	}
	s.late[key] = true
	s.log.Warn("parts of a file dropped, because no other came", "queue", key.queue, "graph", key.name, "patience", uploadPatience, "bytes", u.got, "of", u.total)
}

// uploaded reads a file from its parts, and releases each part once it has been read. It ends
// with ctx.
type uploaded struct {
	ctx   context.Context
	parts net.Buffers
}

func (u *uploaded) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.parts.Read(p)
}
