package ledger

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"ringmaster/ring"
)

// check says what is wrong with the books; nil if they are consistent.
func (l *Ledger) check() error {
	pending, owned, first := 0, 0, 0
	for name, q := range l.queues {
		slots := 0
		for _, b := range l.entries {
			if b != nil && b.queue == q {
				slots += b.outstanding + b.length - b.segmentEnd
			}
		}
		if slots != q.pending {
			return fmt.Errorf("queue %s: %d slots pending, its batches have %d", name, q.pending, slots)
		}
		pending += q.pending
		for _, n := range q.owned {
			owned += n
			if n > 0 {
				first++
			}
		}
	}
	if pending != l.pending {
		return fmt.Errorf("%d slots pending, the queues have %d", l.pending, pending)
	}
	if owned+l.pool.Free() != l.pool.Pages() || first != l.first {
		return fmt.Errorf("%d pages owned and %d free of %d, %d first pages, counted %d", owned, l.pool.Free(), l.pool.Pages(), first, l.first)
	}
	for i, b := range l.deadlines {
		if b.due != i+1 || b.withdrawn || l.entries[b.number] != b {
			return fmt.Errorf("batch %s does not belong at place %d of the deadlines", b.ID, i)
		}
	}
	return nil
}

// TestEveryBatchIsReportedOnce plays submitters, waves that end in every way, cancels,
// deadlines, narrower masks and losses against the books. Every batch that was taken is
// handed out once, with each of its slots accounted for, and nothing is left behind.
func TestEveryBatchIsReportedOnce(t *testing.T) {
	for seed := range uint64(60) {
		if err := hammer(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

type hammered struct {
	*rand.Rand
	l        *Ledger
	now      time.Time
	taken    map[string]int // slots of batches that were taken and not handed out
	waves    []*Wave
	holds    [][]Extent
	reported int
}

func hammer(seed uint64) error {
	cfg := testConfig()
	cfg.Pages, cfg.MaxBatchSlots, cfg.MaxPending = 20, 1500, 6000
	cfg.Fits = func(opcodes uint64, steps uint32) bool { return opcodes&0b110 != 0b110 || steps <= 10 }
	l, err := New(cfg)
	if err != nil {
		return err
	}
	h := &hammered{Rand: rand.New(rand.NewPCG(seed, 7)), l: l, now: time.Unix(1000, 0), taken: map[string]int{}}
	for step := range 400 {
		if err := h.step(step); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
		if err := l.check(); err != nil {
			return fmt.Errorf("step %d: %w", step, err)
		}
	}
	return h.finish()
}

func (h *hammered) queue() string { return fmt.Sprint("q", h.IntN(6)) }

func (h *hammered) step(step int) error {
	h.now = h.now.Add(time.Duration(h.IntN(3)) * time.Second)
	switch h.IntN(14) {
	case 0, 1, 2, 3:
		return h.submit(fmt.Sprint(step % 300)) // some ids come twice
	case 4, 5, 6:
		h.begin()
	case 7, 8, 9:
		return h.end()
	case 10:
		h.l.Cancel(h.now, h.queue(), fmt.Sprint(h.IntN(step+1)))
	case 11:
		h.publish()
	case 12:
		h.l.Tick(h.now)
	case 13:
		switch h.IntN(8) {
		case 0:
			return h.l.Configure(h.now, h.queue(), QueueOptions{MaxPending: h.IntN(3) * 1000, Rate: float64(h.IntN(2) * 5000), Opcodes: uint64(h.IntN(2)) * 0x203})
		case 1:
			return h.lose()
		}
	}
	for _, name := range h.l.Ended() {
		if err := h.collect(name); err != nil {
			return err
		}
	}
	return nil
}

func (h *hammered) submit(id string) error {
	work := Batch{ID: id, WantResults: h.IntN(2) == 0}
	p := Profile{Repeatable: h.IntN(2) == 0, Steps: h.Uint32N(20)}
	for range 1 + h.IntN(3) {
		op, priority := h.Uint32N(3), h.Uint32N(ring.Priorities)
		for range 1 + h.IntN(400) {
			work.Slots = append(work.Slots, ring.Slot{Opcode: op, Priority: priority})
			p.Opcodes |= 1 << op
		}
		if h.IntN(3) == 0 {
			work.Slots = append(work.Slots, ring.Slot{Opcode: testFence})
			p.Opcodes |= 1 << testFence
		}
	}
	if h.IntN(3) == 0 {
		work.Deadline = h.now.Add(time.Duration(h.IntN(20)) * time.Second)
	}
	if h.IntN(20) == 0 {
		work.Epoch = 1
	}
	n := len(work.Slots)
	if h.IntN(2) == 0 {
		var runs []Run
		listed := h.IntN(n + 1)
		_, runs = runsOf(work.Slots[listed:])
		work.Slots, work.Runs = work.Slots[:listed], runs
	}
	if err := h.l.Check(&work); err != nil {
		return ignore(err, ErrBatch)
	}
	entry, err := h.l.NewEntry(work, p)
	if err != nil {
		return ignore(err, ErrBatch)
	}
	name := h.queue()
	key := name + "." + id
	if _, there := h.taken[key]; there {
		return nil // the oracle knows batches by their ids
	}
	extents, err := h.l.Submit(h.now, nil, name, entry)
	for _, ok := h.l.Reused(); ok; _, ok = h.l.Reused() {
	}
	if err != nil {
		return ignore(err, ErrBatch, ErrBacklog, ErrQuota, ErrQueues, ErrForbidden)
	}
	h.taken[key] = n
	h.write(extents)
	if h.IntN(4) == 0 {
		h.holds = append(h.holds, extents)
	} else {
		h.l.Publish(h.now, extents)
	}
	return nil
}

func ignore(err error, expected ...error) error {
	for _, e := range expected {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

func (h *hammered) write(extents []Extent) {
	gather := make([]ring.Slot, 0, ring.PageSlots)
	for i := range extents {
		h.l.Slots(&extents[i], gather)
	}
}

func (h *hammered) publish() {
	for _, extents := range h.holds {
		h.l.Publish(h.now, extents)
	}
	h.holds = h.holds[:0]
}

func (h *hammered) begin() {
	w := &Wave{}
	if h.l.Begin(h.now, w, h.queue(), h.IntN(3)*300) != nil {
		return
	}
	extents := h.l.Reserve(nil, w)
	h.write(extents)
	h.l.Publish(h.now, extents)
	h.l.Plan(w)
	if w.Slots == 0 {
		h.l.Return(h.now, w)
		return
	}
	h.waves = append(h.waves, w)
}

// end ends one of the waves, in any order.
func (h *hammered) end() error {
	if len(h.waves) == 0 {
		return nil
	}
	i := h.IntN(len(h.waves))
	w := h.waves[i]
	h.waves = append(h.waves[:i], h.waves[i+1:]...)
	play(w, h.IntN(w.Slots+1)/8, h.IntN(w.Slots+1)/4, h.IntN(w.Slots+1)/4)
	c := control(w)
	if h.IntN(5) == 0 {
		c.Executed++ // the device contradicts itself
	}
	if err := w.Collect(&c); err != nil {
		h.l.Return(h.now, w)
		return nil
	}
	if err := h.l.Settle(h.now, w); err != nil {
		return err
	}
	return h.collect(w.queue.name)
}

func (h *hammered) lose() error {
	if err := h.settle(); err != nil {
		return err
	}
	h.l.Lost(h.now)
	return nil
}

// settle publishes what is written and ends what is under way.
func (h *hammered) settle() error {
	h.publish()
	for len(h.waves) > 0 {
		if err := h.end(); err != nil {
			return err
		}
	}
	return nil
}

func (h *hammered) collect(name string) error {
	for _, r := range h.l.Finished(name) {
		key := name + "." + r.ID
		slots, there := h.taken[key]
		switch {
		case !there:
			return fmt.Errorf("batch %s was handed out and not taken, or twice", key)
		case int(r.Executed+r.Faulted+r.Dropped) != slots || len(r.Faults) != int(r.Faulted) || (r.Err != nil) != (r.Dropped > 0):
			return fmt.Errorf("batch %s of %d slots: %+v", key, slots, r)
		}
		delete(h.taken, key)
		h.reported++
	}
	return nil
}

// finish runs what is left and looks at what remains.
func (h *hammered) finish() error {
	if err := h.settle(); err != nil { // not a loss, which would end what was forgotten
		return err
	}
	for i := range 6 {
		if err := h.l.Configure(h.now, fmt.Sprint("q", i), QueueOptions{}); err != nil {
			return err
		}
	}
	for range 500 {
		h.begin()
		for len(h.waves) > 0 {
			if err := h.end(); err != nil {
				return err
			}
		}
	}
	for _, name := range h.l.Ended() {
		if err := h.collect(name); err != nil {
			return err
		}
	}
	s := h.l.Stats()
	if len(h.taken) > 0 || s.Pending != 0 || s.FreePages != h.l.pool.Pages() || len(h.l.free) != len(h.l.entries) || len(h.l.deadlines) > 0 {
		return fmt.Errorf("left behind: %v, %+v, %d deadlines", h.taken, s, len(h.l.deadlines))
	}
	for name, q := range h.l.queues {
		if len(q.named) > 0 || len(q.finished) > 0 || q.waves+q.writing+q.ending > 0 {
			return fmt.Errorf("left behind in queue %s: %+v", name, q)
		}
	}
	if h.reported < 20 {
		return fmt.Errorf("only %d batches were reported", h.reported)
	}
	return nil
}
