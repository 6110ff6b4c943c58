package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"slices"
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

	// uploadPace is how long uploadStep bytes may take once another file finds no place: the one
	// that has been slower for longest then loses its own. A client at 50 KB/s keeps it.
	uploadPace = 5 * time.Second
	uploadStep = telemetry.MaxGraphPart
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
	step     time.Time // when the last uploadStep bytes were complete
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
	steps := u.got / uploadStep
	if u.got += uint64(len(data)); u.got/uploadStep > steps {
		u.step = time.Now()
	}
	if last := len(u.parts) - 1; last >= 0 && len(u.parts[last])+len(data) <= telemetry.MaxGraphPart {
		u.parts[last] = append(u.parts[last], data...)
		return
	}
	u.parts = append(u.parts, bytes.Clone(data))
}

// beginUpload makes room for a file; it replaces one of the same name that was not complete, and
// others that hardly move if there is no room beside them. Called with mu held.
func (s *graphStore) beginUpload(key uploadKey, total uint64) (*graphUpload, error) {
	if old := s.uploads[key]; old != nil {
		old.timer.Stop()
		delete(s.uploads, key)
	}
	slow, ok := s.makeWay(key.queue, total)
	if !ok {
		held, own := s.onTheirWay(key.queue, nil)
		return nil, fmt.Errorf("%w: %d files of %d bytes are on their way, %d of them of queue %s; a worker takes %d, of one queue %d, of %d bytes; try again when some are here",
			natsio.ErrGraphBusy, len(s.uploads), held, own, key.queue, maxUploads, maxQueueFiles, maxUploadBytes)
	}
	for _, k := range slow {
		u := s.uploads[k]
		u.timer.Stop()
		delete(s.uploads, k)
		s.log.Warn("parts of a file dropped, because others wait and hardly any more came", "queue", k.queue, "graph", k.name, "patience", uploadPace, "bytes", u.got, "of", u.total)
	}
	delete(s.late, key)
	u := &graphUpload{total: total, step: time.Now()}
	u.timer = time.AfterFunc(uploadPatience, func() { s.abandon(key, u) })
	s.uploads[key] = u
	return u, nil
}

// onTheirWay counts the bytes of all files that are being sent but some, and those of a queue.
func (s *graphStore) onTheirWay(queue string, but []uploadKey) (bytes uint64, own int) {
	for k, u := range s.uploads {
		if slices.Contains(but, k) {
			continue
		}
		bytes += u.total
		if k.queue == queue {
			own++
		}
	}
	return bytes, own
}

// makeWay returns the files that have to go so that another of a queue can be sent, slowest
// first, or false if those that are slow are not enough. Called with mu held.
func (s *graphStore) makeWay(queue string, total uint64) (gone []uploadKey, ok bool) {
	var slow []uploadKey
	for k, u := range s.uploads {
		if !u.whole && time.Since(u.step) >= uploadPace {
			slow = append(slow, k)
		}
	}
	slices.SortFunc(slow, func(a, b uploadKey) int { return s.uploads[a].step.Compare(s.uploads[b].step) })
	for {
		held, own := s.onTheirWay(queue, gone)
		full := own >= maxQueueFiles
		if !full && len(s.uploads)-len(gone) < maxUploads && held+total <= maxUploadBytes {
			return gone, true
		}
		next := slices.IndexFunc(slow, func(k uploadKey) bool { return !full || k.queue == queue })
		if next < 0 {
			return nil, false
		}
		gone, slow = append(gone, slow[next]), slices.Delete(slow, next, next+1)
	}
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
