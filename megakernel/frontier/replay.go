package frontier

import (
	"context"
	"errors"
	"fmt"

	"ringmaster/megakernel/gpu"
)

// Recording is what the director decided in each round of a job, to run the job again without it.
type Recording struct {
	job    Job
	rounds int
	last   uint32 // level at which the job ended
	// What the kernels of a round found: the control block with its first slot, the totals block and the
	// dispatches' group counts.
	control, totals, args []uint32
}

// Record runs a job and records the decisions of its director. Only in breadth-first jobs is the next frontier
// independent of the order of arrivals; any other job, or one that is timed or decided on the host, is an error that
// wraps ErrJob.
func (r *Resident) Record(ctx context.Context, job Job) (*Recording, error) {
	if job.Semiring != BFS || job.Decide != nil || job.Timed {
		return nil, fmt.Errorf("frontier: recording decisions: only breadth-first levels that the device decides can be run again: %w", ErrJob)
	}
	job.Discard, job.Observe = true, nil
	plain, err := r.Run(ctx, job)
	if err != nil || plain.Rounds == 0 {
		return &Recording{job: job}, err
	}
	rec := &Recording{job: job, rounds: int(plain.Rounds), last: uint32(len(plain.Levels))}
	rec.control = make([]uint32, rec.rounds*tapeWords)
	rec.totals = make([]uint32, rec.rounds*tapeWords)
	rec.args = make([]uint32, rec.rounds*argWords)
	again, err := r.run(ctx, job, &tape{Recording: rec})
	if err != nil {
		return nil, err
	}
	if again.Rounds != plain.Rounds {
		return nil, fmt.Errorf("frontier: recording decisions: %d rounds, and %d when run again", plain.Rounds, again.Rounds)
	}
	rec.prepare()
	return rec, nil
}

// Replay runs a recorded job again: with the same dispatches and visits, but without decisions. Its result has no
// Levels.
func (r *Resident) Replay(ctx context.Context, rec *Recording, discard bool) (Result, error) {
	return r.repeat(ctx, &tape{Recording: rec, playing: true}, discard)
}

// Rerun runs a recorded job again with its director, but with the same work on the host as Replay: what was recorded is
// uploaded, and a buffer is bound anew before each round. The two differ in the director alone.
func (r *Resident) Rerun(ctx context.Context, rec *Recording, discard bool) (Result, error) {
	return r.repeat(ctx, &tape{Recording: rec, idle: true}, discard)
}

// repeat runs the job of a tape. One without rounds has nothing on it.
func (r *Resident) repeat(ctx context.Context, on *tape, discard bool) (Result, error) {
	job := on.job
	job.Discard = discard
	if on.rounds == 0 {
		return r.Run(ctx, job)
	}
	return r.run(ctx, job, on)
}

// prepare turns a recording into what the kernels of a replay read: nothing is counted yet, and the resident kernel
// ends at the level at which it ended before.
func (rec *Recording) prepare() {
	for i := range rec.rounds {
		clear(rec.totals[i*tapeWords+totCounted:][:sets*setWords])
		control := rec.control[i*tapeWords:]
		if control[ctlState] != stateResident {
			continue
		}
		control[ctlMaxLevels] = rec.last
		if i+1 < rec.rounds {
			control[ctlMaxLevels] = rec.control[(i+1)*tapeWords+ctlLevel]
		}
	}
}

// tapeWords are the words of a round in each buffer, rounded up so that a round's words can be bound: no device
// requires an alignment of more than 256 bytes.
const tapeWords = (max(controlWords+slotWords, totalsWords) + 63) / 64 * 64

// tape is a recording on the device.
type tape struct {
	*Recording
	playing               bool
	idle                  bool // it is there, but the director decides
	control, totals, args buffer
}

func (t *tape) plays() bool { return t != nil && t.playing }

// load makes the buffers. Called on the device's thread.
func (t *tape) load(x *run) error {
	if t == nil {
		return nil
	}
	for _, b := range []struct {
		buffer *buffer
		words  []uint32
	}{{&t.control, t.Recording.control}, {&t.totals, t.Recording.totals}, {&t.args, t.Recording.args}} {
		id, err := x.dev.NewBuffer(4 * len(b.words))
		if err != nil {
			return fmt.Errorf("frontier: %d rounds of decisions: %w", t.rounds, err)
		}
		*b.buffer = buffer{id, 4 * len(b.words)}
		if t.playing || t.idle {
			if err := x.scratch.stage.put(id, 0, b.words); err != nil {
				return err
			}
		}
	}
	return nil
}

// unload reads what was recorded and deletes the buffers. Called on the device's thread.
func (t *tape) unload(x *run) error {
	if t == nil || x.scratch == nil {
		return nil
	}
	var errs []error
	if stage := x.scratch.stage; !t.playing && !t.idle && stage != nil && t.args.id.Buffer != 0 {
		errs = append(errs, stage.get(t.control.id, 0, t.Recording.control), stage.get(t.totals.id, 0, t.Recording.totals),
			stage.get(t.args.id, 0, t.Recording.args))
	}
	for _, b := range []buffer{t.control, t.totals, t.args} {
		x.dev.DeleteBuffer(b.id)
	}
	return errors.Join(errs...)
}

// round is the recorded round of a round; those after the last recorded one repeat it, in which the job has ended.
func (t *tape) round(round uint32) int { return min(int(round), t.rounds-1) }

// take records what the director left for the kernels of the current round. Called on the device's thread.
func (t *tape) take(x *run) {
	if t == nil || t.playing || t.idle {
		return
	}
	at, slot := t.round(x.result.Rounds), 0
	if !x.m.narrow {
		slot = int((x.result.Rounds+1)%sets) * slotWords // the one that the level kernel has written
	}
	from := &x.scratch.buffers
	x.dev.Barrier()
	x.dev.CopyBuffer(from[bindControl].id, 0, t.control.id, 4*at*tapeWords, 4*ctlState)
	x.dev.CopyBuffer(from[bindControl].id, 4*(ctlState+slot), t.control.id, 4*(at*tapeWords+ctlState), 4*slotWords)
	if x.m.narrow {
		x.dev.CopyBuffer(from[bindControl].id, 4*controlWords, t.control.id, 4*(at*tapeWords+controlWords), 4*slotWords) // the words that the director kept
	}
	x.dev.CopyBuffer(from[bindTotals].id, 0, t.totals.id, 4*at*tapeWords, 4*totalsWords)
	x.dev.CopyBuffer(from[bindArgs].id, 0, t.args.id, 4*at*argWords, 4*argWords)
	x.dev.Barrier()
}

// bindAnew binds the log for a round of a tape that nobody plays: all of it, or without the record at its end, which is never
// written. Called on the device's thread.
func (t *tape) bindAnew(x *run) {
	if t != nil && t.idle {
		log := x.scratch.buffers[bindLog]
		x.dev.BindStorage(bindLog, log.id, 0, log.size-4*logWords*int(x.result.Rounds&1))
	}
}

// bind binds what was recorded for the current round, and returns its group counts. A level kernel counts in the same
// buffer as always. Called on the device's thread.
func (t *tape) bind(x *run) (args gpu.Buffer, offset int) {
	at := t.round(x.result.Rounds)
	x.dev.BindStorage(bindControl, t.control.id, 4*at*tapeWords, 4*(controlWords+slotWords))
	if x.m.narrow {
		x.dev.BindStorage(bindTotals, t.totals.id, 4*at*tapeWords, 4*totalsWords)
	}
	return t.args.id, 4 * at * argWords
}
