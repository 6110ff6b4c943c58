package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// send sends a part of a file for a graph of a queue.
func send(s *graphStore, queue, name string, offset, total uint64, data string) error {
	return s.Answer(context.Background(), queue, &telemetry.Resident{Ask: telemetry.ResidentLoad, Name: name, Offset: offset, Total: total, Data: []byte(data)})
}

func TestAFileWhosePartsStopComingIsDroppedAndItsClientToldSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var logged bytes.Buffer
		s := emptyStore(t, 0)
		s.log = slog.New(slog.NewTextHandler(&logged, nil))
		printed := func() (log string) { // the store logs with its mutex
			s.update(func() { log = logged.String() })
			return log
		}
		for offset := range uint64(3) { // each within the time of the part before
			if err := send(s, "q", "slow", offset, 9, "0"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(uploadPatience - time.Nanosecond)
			synctest.Wait()
		}
		if log := printed(); log != "" {
			t.Errorf("dropped too early: %s", log)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if log := printed(); strings.Count(log, "\n") != 1 || !strings.Contains(log, "graph=slow") || !strings.Contains(log, "bytes=3 of=9") {
			t.Errorf("logged: %s", log)
		}
		left := 0
		s.update(func() { left = len(s.uploads) })
		if left != 0 || len(s.listed("q")) != 0 {
			t.Errorf("%d uploads are left, listed %v", left, s.listed("q"))
		}
		err := send(s, "q", "slow", 3, 9, "0")
		if !errors.Is(err, natsio.ErrGraphRequest) || !strings.Contains(err.Error(), "too late") || !strings.Contains(err.Error(), "begin again") {
			t.Errorf("who comes back too late: %v", err)
		}
		if err := send(s, "q", "slow", 0, 9, "0"); err != nil { // and does as told
			t.Error(err)
		}
		if err := send(s, "q", "slow", 1, 9, "0"); err != nil {
			t.Error(err)
		}
		if err := send(s, "q", "never", 1, 9, "0"); err == nil || strings.Contains(err.Error(), "too late") {
			t.Errorf("who never began: %v", err)
		}
	})
}

func TestFilesOnTheirWayAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := emptyStore(t, 0)
		for i, queue := range []string{"q", "p"} {
			for j := range maxQueueFiles {
				if err := send(s, queue, fmt.Sprint("g", j), 0, 9, "0"); err != nil {
					t.Fatal(err)
				}
			}
			if err := send(s, queue, "g", 0, 9, "0"); !errors.Is(err, natsio.ErrGraphBusy) || len(s.uploads) != (i+1)*maxQueueFiles {
				t.Errorf("one file too many of queue %s: %v", queue, err)
			}
		}
		if err := send(s, "o", "g0", 0, 9, "0"); !errors.Is(err, natsio.ErrGraphBusy) {
			t.Errorf("one file too many: %v", err)
		}
		if err := send(s, "q", "g0", 0, 9, "0"); err != nil {
			t.Errorf("one that begins again: %v", err)
		}
		time.Sleep(uploadPatience)
		synctest.Wait()
		for _, c := range []struct {
			name  string
			total uint64
			busy  bool
		}{{"a", maxGraphFile, false}, {"b", maxGraphFile - 1, false}, {"c", 2, true}, {"c", 1, false}, {"d", 1, true}} {
			if err := send(s, "q", c.name, 0, c.total, ""); errors.Is(err, natsio.ErrGraphBusy) != c.busy || !c.busy && err != nil {
				t.Errorf("a file %s of %d bytes beside the others: %v", c.name, c.total, err)
			}
		}
		for i := range 3 * maxGraphs { // of as many names as anybody likes
			time.Sleep(uploadPatience)
			synctest.Wait()
			if err := send(s, "q", fmt.Sprint("h", i), 0, 9, "0"); err != nil {
				t.Fatal(err)
			}
		}
		if len(s.late) > maxGraphs {
			t.Errorf("%d dropped files are remembered", len(s.late))
		}
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
}

func TestFilesThatHardlyMoveGiveWayToAnotherAndNoOthersDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := emptyStore(t, 0)
		defer s.close()
		names := func(queue string) (names string) {
			s.update(func() {
				for key := range s.uploads {
					if key.queue == queue {
						names += key.name
					}
				}
			})
			return names
		}
		const total = uploadStep + 100
		for i := range maxUploads {
			if err := send(s, fmt.Sprint("q", i/maxQueueFiles), fmt.Sprint(i), 0, total, "0"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		time.Sleep(uploadPace - maxUploads*time.Millisecond - time.Nanosecond)
		if err := send(s, "other", "g", 0, 9, "0"); !errors.Is(err, natsio.ErrGraphBusy) || len(names("q0")) != maxQueueFiles {
			t.Errorf("before its time: %v", err)
		}
		if err := send(s, "q0", "0", 1, total, strings.Repeat("0", uploadStep)); err != nil { // the oldest moves
			t.Fatal(err)
		}
		if err := send(s, "q0", "1", 1, total, "0"); err != nil { // a byte is no pace
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		if err := send(s, "other", "g", 0, 9, "0"); err != nil {
			t.Errorf("beside files that hardly move: %v", err)
		}
		if got := names("q0"); len(got) != maxQueueFiles-1 || strings.Contains(got, "1") || len(names("q1")) != maxQueueFiles {
			t.Errorf("left are %s and %s, want all but 1", got, names("q1"))
		}
		if err := send(s, "q0", "1", 2, total, "0"); !errors.Is(err, natsio.ErrGraphRequest) || !strings.Contains(err.Error(), "took its place, begin again") {
			t.Errorf("who gave way: %v", err)
		}
		if err := send(s, "q1", "g", 0, maxUploadBytes, ""); !errors.Is(err, natsio.ErrGraphTooLarge) {
			t.Error(err)
		}
		if err := send(s, "q1", "g", 0, 9, "0"); err != nil { // its own queue is full
			t.Error(err)
		}
		if got := names("q1"); len(got) != maxQueueFiles || !strings.Contains(got, "g") || strings.Contains(got, "4") || len(names("q0")) != maxQueueFiles-1 {
			t.Errorf("left are %s and %s, want all of the other queue", names("q0"), got)
		}
	})
}

func TestAFileThatComesByteByByteTakesNoMorePartsThanAnother(t *testing.T) {
	s := emptyStore(t, 0)
	const bytes = telemetry.MaxGraphPart + 10
	for offset := range uint64(bytes) {
		if err := send(s, "q", "g", offset, bytes+1, "0"); err != nil {
			t.Fatal(err)
		}
	}
	for range 10 { // and what brings nothing takes nothing
		if err := send(s, "q", "g", bytes, bytes+1, ""); err != nil {
			t.Fatal(err)
		}
	}
	s.update(func() {
		u := s.uploads[uploadKey{graphKey{"q", "g"}, "graph"}]
		u.timer.Stop()
		if len(u.parts) != 2 || u.got != bytes || len(u.parts[1]) != 10 {
			t.Errorf("%d bytes in %d parts", u.got, len(u.parts))
		}
	})
}

func TestAFileThatIsReadWhileTheStoreIsClosedIsRefusedAsAnyOther(t *testing.T) {
	s := emptyStore(t, 10)
	key := uploadKey{graphKey{"q", "g"}, "graph"}
	if _, _, err := s.part(context.Background(), key, &telemetry.Resident{Total: 3, Data: []byte("0 1")}); err != nil {
		t.Fatal(err)
	}
	if err := s.close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.admit(key, 10); err != nil {
		t.Error(err)
	}
}
