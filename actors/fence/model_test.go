package fence_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"ringmaster/actors/fence"
)

// The model: processes that all believe that they decide for a queue, a stream that compares and
// sets, and a network that loses writes, delivers them late, and loses answers. Every input
// reaches every living process; that is the worst case, since all of them decide on it.
// Processes die and come back with nothing. One that is stopped and wakes up is one whose
// steps all come late.
//
// explore visits every state that any order of events leads to. States that differ only in which
// process is which, or in the ids of writes, are one.

const (
	queues    = 2
	processes = 3
)

// bounds keep the number of states finite.
type bounds struct {
	inputs   [queues]uint8 // that a queue gets
	writes   uint8         // that are begun, of all processes together
	lost     uint8         // writes or answers that the network loses
	deaths   uint8
	restores uint8 // of the stream from a backup
}

// message is one decision in the stream or on its way to it.
type message struct {
	sequence uint8 // 0: not stored
	id       uint8
	previous uint8 // that the writer named
	number   uint8
	input    uint8 // newest that the decision has seen
}

// process is what one of them knows of one queue: the writer of the protocol, and the state that
// its next decision builds on.
type process struct {
	w       fence.Writer
	state   message // whose number and input the next decision follows
	folded  uint8   // newest input received
	pending message // under way
	late    bool    // the write is still on its way
	answer  answer
}

// life is what one process knows of all queues.
type life [queues]process

type answer uint8

const (
	noAnswer answer = iota
	stored
	refused
)

// world is all of it, without pointers: a copy is another world.
type world struct {
	left      bounds
	sequence  uint8 // of the stream's last message, of any queue
	streams   [queues][10]message
	messages  [queues]uint8
	given     [queues]uint8 // inputs so far
	processes [processes]life
	late      [2]lateWrite // writes that nobody waits for and that may still arrive
	ids       uint8
	restored  bool
}

type lateWrite struct {
	queue uint8
	message
}

func (w *world) last(q int) message {
	if w.messages[q] == 0 {
		return message{}
	}
	return w.streams[q][w.messages[q]-1]
}

// accept is what the server does with a write.
func (w *world) accept(q int, m message) (message, bool) {
	if w.last(q).sequence != m.previous {
		return m, false
	}
	w.sequence++
	m.sequence = w.sequence
	w.streams[q][w.messages[q]] = m
	w.messages[q]++
	return m, true
}

// next hands every state that may follow to visit.
func (w *world) next(visit func(event string, after world) error) error {
	for _, steps := range []func(func(string, world) error) error{w.outside, w.inside} {
		if err := steps(visit); err != nil {
			return err
		}
	}
	return nil
}

// outside are the events that no process causes: inputs, late writes, a restored stream.
func (w *world) outside(visit func(string, world) error) error {
	for q := range queues {
		if w.left.inputs[q] > 0 {
			after := *w
			after.left.inputs[q]--
			after.given[q]++
			for p := range processes {
				after.processes[p][q].folded = after.given[q]
			}
			if err := visit(fmt.Sprintf("input %d for queue %d", after.given[q], q), after); err != nil {
				return err
			}
		}
		if w.left.restores > 0 && w.messages[q] > 0 {
			after := *w
			after.left.restores--
			after.restored = true
			after.messages[q]--
			after.streams[q][after.messages[q]] = message{}
			if err := visit(fmt.Sprintf("the last message of queue %d is gone", q), after); err != nil {
				return err
			}
		}
	}
	for i, late := range w.late {
		if late.id != 0 {
			after := *w
			after.late[i] = lateWrite{}
			after.accept(int(late.queue), late.message)
			if err := visit(fmt.Sprintf("late write %d arrives", late.id), after); err != nil {
				return err
			}
		}
	}
	return nil
}

// inside are the steps of the processes and what the network does to them.
func (w *world) inside(visit func(string, world) error) error {
	for p := range processes {
		if w.left.deaths > 0 && w.processes[p] != (life{}) {
			after := *w
			after.left.deaths--
			for q := range queues {
				if own := &after.processes[p][q]; own.late && !after.keep(q, own.pending) {
					return nil // more writes are on their way than the model has room for
				}
				after.processes[p][q] = process{}
			}
			if err := visit(fmt.Sprintf("process %d dies and comes back", p), after); err != nil {
				return err
			}
		}
		for q := range queues {
			if err := w.steps(p, q, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *world) keep(q int, m message) bool {
	for i := range w.late {
		if w.late[i].id == 0 {
			w.late[i] = lateWrite{uint8(q), m}
			return true
		}
	}
	return false
}

// steps are what may happen next to a process and a queue.
func (w *world) steps(p, q int, visit func(string, world) error) error {
	step := func(event string, change func(after *world, own *process) error) error {
		after := *w
		if err := change(&after, &after.processes[p][q]); err != nil {
			return fmt.Errorf("%s, process %d queue %d: %w", event, p, q, err)
		}
		return visit(fmt.Sprintf("%s, process %d queue %d", event, p, q), after)
	}
	own := &w.processes[p][q]
	if newest := w.last(q); !own.w.Busy() && newest.sequence > uint8(own.w.Last()) {
		if err := step("hear", func(_ *world, own *process) error { return own.hear(newest) }); err != nil {
			return err
		}
	}
	switch {
	case !own.w.Busy() && own.folded > own.state.input && w.left.writes > 0:
		return step("begin", (*world).begin)
	case own.w.Reading():
		return step("read", func(after *world, own *process) error { return own.read(after, q) })
	case own.w.Busy() && own.answer == noAnswer:
		if err := step("arrive", func(after *world, own *process) error { after.arrive(q, own); return nil }); err != nil {
			return err
		}
		if w.left.lost > 0 {
			return step("time out", func(after *world, own *process) error {
				after.left.lost--
				if !after.keep(q, own.pending) {
					return nil // it never arrives
				}
				own.late = false
				own.w.Doubt()
				return nil
			})
		}
	case own.w.Busy():
		if w.left.lost > 0 {
			if err := step("lose the answer", func(after *world, own *process) error {
				after.left.lost--
				own.answer = noAnswer
				own.w.Doubt()
				return nil
			}); err != nil {
				return err
			}
		}
		return step("answer", func(after *world, own *process) error { return own.answered(after, q) })
	}
	return nil
}

// begin has a process decide on what it has folded.
func (w *world) begin(own *process) error {
	w.left.writes--
	w.ids++
	m := message{id: w.ids, number: own.state.number + 1, input: own.folded}
	m.previous = uint8(own.w.Begin(uint64(m.id)))
	own.pending, own.late, own.answer = m, true, noAnswer
	return nil
}

func (w *world) arrive(q int, own *process) {
	m, ok := w.accept(q, own.pending)
	own.pending, own.late, own.answer = m, false, refused
	if ok {
		own.answer = stored
	}
}

func (own *process) answered(w *world, q int) error {
	was := own.answer
	own.answer = noAnswer
	if was == refused {
		own.w.Doubt()
		return nil
	}
	own.w.Stored(uint64(own.pending.sequence))
	return own.hold(w, q, own.pending)
}

// hold is the moment from which a process acts on its decision.
func (own *process) hold(w *world, q int, m message) error {
	own.state = m
	for _, in := range w.streams[q][:w.messages[q]] {
		if in.id == m.id {
			return nil
		}
	}
	if w.restored {
		return nil // it was there
	}
	return fmt.Errorf("acts on decision %d, which is not in the stream", m.number)
}

// read settles a doubt. Of a stream that was restored the higher number goes on.
func (own *process) read(w *world, q int) error {
	newest := w.last(q)
	mine := own.w.Read(uint64(newest.sequence), uint64(newest.id))
	switch {
	case mine:
		return own.hold(w, q, newest)
	case newest.number >= own.state.number:
		own.state = newest
	}
	return nil
}

func (own *process) hear(m message) error {
	if own.w.Heard(uint64(m.sequence)) {
		own.state = m
	}
	return nil
}

// check is what holds in every state.
func (w *world) check() error {
	for q := range queues {
		before := message{}
		for _, m := range w.streams[q][:w.messages[q]] {
			switch {
			case w.restored: // numbers may have a gap, but never go back
				if m.number <= before.number {
					return fmt.Errorf("queue %d: decision %d after %d", q, m.number, before.number)
				}
			case m.number != before.number+1:
				return fmt.Errorf("queue %d: decision %d after %d", q, m.number, before.number)
			case m.input <= before.input:
				return fmt.Errorf("queue %d: input %d after %d", q, m.input, before.input)
			}
			if !w.restored && m.previous != before.sequence {
				return fmt.Errorf("queue %d: message %d names %d, behind %d", q, m.sequence, m.previous, before.sequence)
			}
			before = m
		}
	}
	return nil
}

// progress says what comes of a process that from now on nobody disturbs: its next decision takes
// two writes at most, of which others may have had the first refused, and the one after it takes one.
func (w world) progress(p, q int) error {
	own := &w.processes[p][q]
	for _, most := range []int{2, 1} {
		writes := 0
		for own.folded = max(w.last(q).input, own.folded) + 1; own.state.input < own.folded; {
			var err error
			switch {
			case own.w.Reading():
				err = own.read(&w, q)
			case !own.w.Busy() && writes == most:
				return fmt.Errorf("process %d, queue %d: %d writes, and no decision", p, q, writes)
			case !own.w.Busy():
				writes++
				err = w.begin(own)
			case own.answer == noAnswer:
				w.arrive(q, own)
			default:
				err = own.answered(&w, q)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// settled says that nothing is left to happen: then every input that came while a process
// lived has been decided on. What a restored stream lacks, those who decided it still have.
func (w *world) settled() error {
	if w.restored {
		return nil
	}
	for q := range queues {
		for p := range processes {
			if own := &w.processes[p][q]; w.left.writes > 0 && own.folded > w.last(q).input {
				return fmt.Errorf("queue %d: nobody decides on input %d", q, own.folded)
			}
		}
	}
	return nil
}

// key is the same for states that differ only in names.
func (w *world) key() string {
	var parts [processes][]byte
	for p := range processes {
		parts[p] = w.processes[p].key(func(uint8) uint8 { return 0 })
	}
	order := []int{0, 1, 2}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(parts[a], parts[b]) })
	names, known := [256]uint8{}, uint8(0)
	name := func(id uint8) uint8 {
		if id != 0 && names[id] == 0 {
			known++
			names[id] = known
		}
		return names[id]
	}
	b := []byte{w.sequence, w.left.writes, w.left.lost, w.left.deaths, w.left.restores}
	for q := range queues {
		b = append(b, w.left.inputs[q], w.messages[q])
		for _, m := range w.streams[q][:w.messages[q]] {
			b = m.key(b, name)
		}
	}
	for _, p := range order {
		b = append(b, w.processes[p].key(name)...)
	}
	for _, late := range w.late {
		b = late.key(append(b, late.queue), name)
	}
	return string(b)
}

func (m *message) key(b []byte, name func(uint8) uint8) []byte {
	return append(b, m.sequence, name(m.id), m.previous, m.number, m.input)
}

func (p *life) key(name func(uint8) uint8) (b []byte) {
	for q := range p {
		own := &p[q]
		flags := byte(own.answer)
		for i, is := range []bool{own.w.Busy(), own.w.Reading(), own.late} {
			if is {
				flags |= 8 << i
			}
		}
		b = append(b, flags, byte(own.w.Last()), own.folded)
		b = own.state.key(b, name)
		if own.w.Busy() {
			b = own.pending.key(b, name)
		}
	}
	return b
}

// explore visits every state once and returns how many there are, or the first violation with
// the events that lead to it.
func explore(from bounds) (states int, err error) {
	type step struct {
		before *step
		event  string
	}
	type visit struct {
		world
		step *step
	}
	seen := map[string]bool{}
	for stack := []visit{{world: world{left: from}}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		last := true
		err := at.next(func(event string, after world) error {
			last = false
			if key := after.key(); !seen[key] {
				seen[key] = true
				stack = append(stack, visit{after, &step{at.step, event}})
			}
			return nil
		})
		if err == nil {
			err = at.check()
		}
		if err == nil && last {
			err = at.settled()
		}
		for p := 0; err == nil && p < processes; p++ {
			err = at.progress(p, 0)
		}
		if err != nil {
			for s := at.step; s != nil; s = s.before {
				err = fmt.Errorf("%s\n%w", s.event, err)
			}
			return len(seen), err
		}
	}
	return len(seen), nil
}

func TestEveryOrderOfEvents(t *testing.T) {
	for name, from := range map[string]bounds{
		"six inputs of two queues":      {inputs: [queues]uint8{3, 3}, writes: 3},
		"six inputs, answers are lost":  {inputs: [queues]uint8{6, 0}, writes: 3, lost: 1},
		"answers are lost":              {inputs: [queues]uint8{3, 0}, writes: 5, lost: 2},
		"processes die":                 {inputs: [queues]uint8{2, 1}, writes: 3, lost: 1, deaths: 1},
		"the stream loses its last one": {inputs: [queues]uint8{2, 0}, writes: 4, lost: 1, restores: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states, err := explore(from)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d states", states)
		})
	}
}

func TestAnOwnWriteIsTold(t *testing.T) {
	var w fence.Writer
	for _, c := range []struct {
		sequence, id uint64
		mine         bool
	}{{7, 1, true}, {9, 2, false}, {0, 0, false}} {
		expect := w.Begin(1)
		w.Doubt()
		if expect != w.Last() || !w.Reading() || w.Read(c.sequence, c.id) != c.mine || w.Last() != c.sequence || w.Busy() {
			t.Errorf("%+v: %+v", c, w)
		}
	}
}

func TestNothingOlderIsAdopted(t *testing.T) {
	var w fence.Writer
	w.Begin(1)
	if w.Heard(5) {
		t.Error("adopted while a write was under way")
	}
	w.Stored(4)
	if !w.Heard(5) || w.Heard(5) || w.Heard(3) || w.Last() != 5 {
		t.Errorf("%+v", w)
	}
}
