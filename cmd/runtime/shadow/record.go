package shadow

import (
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// Bounds of what is kept.
const (
	maxQueues   = 1024
	maxLaunches = 20_000 // of a queue
)

// way is how a launch runs, or should: launches of one way have one cost.
type way struct {
	geometry telemetry.Geometry
	kernel   string // telemetry.ExecutionMode
	mode     string // telemetry.LaunchMode
}

// String is width x groups x chunk, the kernel, and how it is launched.
func (w way) String() string {
	return fmt.Sprintf("%dx%dx%d, %s, %s", w.geometry.WorkgroupSizeX, w.geometry.Groups, w.geometry.ClaimChunk, w.kernel, w.mode)
}

// launch is one launch with the advice that stood when it was reported.
type launch struct {
	at      time.Time
	ran     way
	slots   uint64
	ns      uint64
	advised bool
	advice  way
	depth   uint32 // of the advice; 0: as many as there are
	why     string
}

// different says whether the engine ran something else than was advised.
func (l *launch) different() bool { return l.advised && (l.ran != l.advice || l.launches() > 1) }

// launches is how many launches the advice makes of the slots of this one.
func (l *launch) launches() uint64 {
	if l.depth == 0 {
		return 1
	}
	return max((l.slots+uint64(l.depth)-1)/uint64(l.depth), 1)
}

// queue is what is known of one queue.
type queue struct {
	launches   []launch
	unmeasured uint64 // launches that failed, or without a geometry, slots or a time
	advice     telemetry.Recommendation
	until      time.Time // how long advice stands; zero: there is none
}

// recorder keeps what was heard of the queues. It is not for several goroutines.
type recorder struct {
	queues map[string]*queue // by WORKER.QUEUE
	Left   uint64            // launches and advice that were not kept, because there was too much
}

// newRecorder returns a recorder that has heard nothing.
func newRecorder() *recorder { return &recorder{queues: make(map[string]*queue)} }

func (r *recorder) queue(worker, name string) *queue {
	key := worker + "." + name
	q := r.queues[key]
	if q == nil && len(r.queues) < maxQueues {
		q = new(queue)
		r.queues[key] = q
	}
	if q == nil {
		r.Left++
	}
	return q
}

// Advise takes a recommendation of a moment. One without a plan ends the advice before it.
func (r *recorder) Advise(at time.Time, worker, name string, rec *telemetry.Recommendation) {
	q := r.queue(worker, name)
	if q == nil {
		return
	}
	q.advice, q.until = *rec, at.Add(time.Duration(rec.ValidForMs)*time.Millisecond)
	q.advice.Reasons, q.advice.Decided = slices.Clone(rec.Reasons), nil // a record is used again
	if rec.Error != "" || rec.WorkgroupSizeX == 0 {
		q.until = time.Time{}
	}
}

// Launched takes a launch that was reported at a moment.
func (r *recorder) Launched(at time.Time, worker, name string, l *telemetry.Launch) {
	q := r.queue(worker, name)
	switch {
	case q == nil:
		return
	case l.Status != telemetry.LaunchOK || l.Applied.WorkgroupSizeX == 0 || l.Applied.Groups == 0 || l.Executed == 0 || l.ElapsedNs == 0:
		q.unmeasured++
		return
	case len(q.launches) >= maxLaunches:
		r.Left++
		return
	}
	next := launch{at: at, ran: way{l.Applied, l.ExecutionMode.String(), l.Mode.String()}, slots: l.Executed, ns: l.ElapsedNs}
	if a := &q.advice; !at.After(q.until) {
		next.advised, next.depth, next.why = true, a.BatchDepth, reasons(a)
		next.advice = way{telemetry.Geometry{WorkgroupSizeX: a.WorkgroupSizeX, Groups: a.Groups, ClaimChunk: a.ClaimChunk}, a.ExecutionMode, a.LaunchMode}
	}
	q.launches = append(q.launches, next)
}

// reasons are the rules of a recommendation in words.
func reasons(r *telemetry.Recommendation) (text string) {
	for i, reason := range r.Reasons {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s (%d, threshold %d)", reason.Rule, reason.Value, reason.Threshold)
	}
	return text
}
