package natsio

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"ringmaster/telemetry"
)

func TestAWorkerIsGoneWhenAnotherStartAnswersOrNobodyForLong(t *testing.T) {
	slow := context.DeadlineExceeded
	type look struct {
		at          time.Duration
		incarnation uint64
		err         error
	}
	for name, c := range map[string]struct {
		looks []look
		gone  bool // at the last of them
	}{
		"it answers":                 {[]look{{0, 7, nil}, {time.Hour, 7, nil}}, false},
		"another start answers":      {[]look{{0, 7, nil}, {1, 8, nil}}, true},
		"it is slow":                 {[]look{{0, 7, nil}, {1, 0, slow}, {time.Hour, 0, slow}}, false},
		"it is busy":                 {[]look{{0, 0, ErrGraphBusy}, {time.Hour, 0, ErrGraphBusy}}, false},
		"nobody listens for a while": {[]look{{0, 7, nil}, {1, 0, ErrNoRuntime}, {absence, 0, ErrNoRuntime}}, false},
		"nobody listens":             {[]look{{0, 7, nil}, {1, 0, ErrNoRuntime}, {absence + 1, 0, ErrNoRuntime}}, true},
		"nobody ever listened":       {[]look{{0, 0, ErrNoRuntime}, {absence, 0, ErrNoRuntime}}, true},
		"no server, then no worker":  {[]look{{0, 0, ErrDisconnected}, {absence, 0, ErrNoRuntime}}, true},
		"it listens again":           {[]look{{0, 0, ErrNoRuntime}, {1, 7, nil}, {absence, 0, ErrNoRuntime}}, false},
		"the same one came back":     {[]look{{0, 7, nil}, {1, 0, ErrDisconnected}, {time.Hour - 1, 7, nil}, {time.Hour, 7, nil}}, false},
	} {
		var p presence
		begin := time.Unix(1e9, 0)
		for i, l := range c.looks {
			err := l.err
			if err != nil {
				err = fmt.Errorf("asked: %w", err)
			}
			last := i == len(c.looks)-1
			if gone := p.saw(begin.Add(l.at), l.incarnation, err); (gone != nil) != (c.gone && last) || gone != nil && !errors.Is(gone, ErrWorkerGone) {
				t.Errorf("%s, look %d: %v", name, i, gone)
			}
		}
	}
}

func TestARequesterDoesNotWaitForAWorkerThatWasReplaced(t *testing.T) {
	server := newServer(t)
	first, second := dial(t, fastConfig(server.URL())), dial(t, fastConfig(server.URL()))
	w := &walks{begun: make(chan string, 1), let: make(chan struct{})}
	killed, err := first.ServeGraphs("gpu0", w)
	must(t, err)
	defer killed.cancel(ErrStopping)
	flush(t, first)
	c := dial(t, fastConfig(server.URL()))
	asked, err := c.nc.SubscribeSync(c.cfg.Subjects.Graph("gpu0", "q"))
	must(t, err)
	flush(t, c)
	ended := begin(t, c)
	<-w.begun
	for range 3 { // the run, and two looks, so that the answer to one has come
		if _, err := asked.NextMsgWithContext(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	first.Close() // without an answer, as if it were killed
	_, err = second.ServeGraphs("gpu0", w)
	must(t, err)
	if err := <-ended; !errors.Is(err, ErrWorkerGone) || !strings.Contains(err.Error(), "graphs of gpu0.q: ") {
		t.Errorf("%v", err)
	}
}

// begin asks for a run, and returns where its end is told.
func begin(t *testing.T, c *Conn) <-chan error {
	ended := make(chan error, 1)
	go func() {
		_, err := c.RunGraph(testContext(t), "gpu0", "q", &telemetry.Resident{Name: "g"})
		ended <- err
	}()
	return ended
}

func TestARunThatEndsWhileTheServerIsAwayIsAnsweredWhenItIsBack(t *testing.T) {
	server := startProcess(t)
	worker, c := dial(t, fastConfig(server.url)), dial(t, fastConfig(server.url))
	w := &walks{begun: make(chan string, 1), let: make(chan struct{})}
	service, err := worker.ServeGraphs("gpu0", w)
	must(t, err)
	flush(t, worker)
	ended := begin(t, c)
	<-w.begun
	server.kill()
	for _, conn := range []*Conn{worker, c} {
		must(t, conn.WaitState(testContext(t), StateDisconnected))
	}
	w.let <- struct{}{}
	for service.Stats().Served == 0 { // into the void
		runtime.Gosched()
	}
	server.start()
	must(t, <-ended)
	must(t, service.Stop(testContext(t)))
}
