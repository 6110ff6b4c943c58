package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/texttest"
	"ringmaster/ring"
)

const testFence = 9

// TestTextCases runs testdata/*.txt, one file a rule. A case is a number of commands, one a
// line, a line of four dashes, and the expected transcript up to a blank line. Comments
// begin with #. The commands are the methods of book, below. Each case is played twice:
// with slots, and with runs of slots.
func TestTextCases(t *testing.T) {
	texttest.Run(t, func(t *testing.T, input string) string {
		got, err := transcript(input, slotsAlone)
		if err != nil {
			t.Fatalf("%v\n%s", err, input)
		}
		asRuns, err := transcript(input, runsOf)
		refused := strings.Contains(got, ErrBatch.Error()) // in words of its own
		if err != nil || asRuns != got && !refused {
			t.Errorf("%s%v, as runs\n%s\nas slots\n%s", input, err, asRuns, got)
		}
		return got
	})
}

// book runs the commands of a case.
type book struct {
	encoding func([]ring.Slot) ([]ring.Slot, []Run)
	cfg      Config
	ledger   *Ledger
	now      time.Time
	waves    map[string]*Wave
	extents  map[string][]Extent // reserved by submit … hold
	out      strings.Builder
}

func testConfig() Config {
	return Config{
		Pages: 40, Windows: 4, WindowWords: 64, WindowHold: 10 * time.Second, MaxPending: 20_000, MaxBatchSlots: 4000,
		AgeThreshold: 8, Fence: testFence, Epoch: 100,
	}
}

func transcript(input string, encoding func([]ring.Slot) ([]ring.Slot, []Run)) (string, error) {
	b := &book{encoding: encoding, cfg: testConfig(), now: time.Unix(1000, 0), waves: map[string]*Wave{}, extents: map[string][]Extent{}}
	for line := range strings.Lines(input) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		if b.ledger == nil && words[0] != "config" {
			b.open()
		}
		if err := b.command(words[0], words[1:]); err != nil {
			return "", fmt.Errorf("%s: %w", line, err)
		}
	}
	return strings.TrimSpace(b.out.String()), b.ledger.check()
}

func (b *book) open() {
	var err error
	if b.ledger, err = New(b.cfg); err != nil {
		panic(err)
	}
}

func (b *book) printf(format string, args ...any) { fmt.Fprintf(&b.out, format+"\n", args...) }

func (b *book) command(name string, args []string) error {
	if (name == "done" || name == "fail") && b.waves[args[0]] == nil {
		return errors.New("no such wave")
	}
	switch name {
	case "config": // field=value ...
		return b.config(args)
	case "submit": // queue id slots ... [deadline=5s] [epoch=100] [steps=3] [results] [repeatable] [hold]
		return b.submit(args)
	case "publish": // id: of a batch submitted with hold
		b.ledger.Publish(b.now, b.extents[args[0]])
		delete(b.extents, args[0])
	case "wave": // name queue [depth]
		return b.wave(args)
	case "done": // name [fault=2] [again=3] [left=4]: the last slots fault, go round again, are not reached
		return b.done(args)
	case "fail": // name
		b.ledger.Return(b.now, b.waves[args[0]])
		delete(b.waves, args[0])
	case "cancel": // queue id
		batches, slots := b.ledger.Cancel(b.now, args[0], args[1])
		b.printf("cancel: %d batches, %d slots", batches, slots)
	case "after": // duration: lets time pass
		d, err := time.ParseDuration(args[0])
		b.now = b.now.Add(d)
		if next := b.ledger.Tick(b.now); !next.IsZero() {
			b.printf("next deadline in %v", next.Sub(b.now))
		}
		return err
	case "ended":
		b.printf("ended: %s", strings.Join(b.ledger.Ended(), " "))
	case "finished": // queue
		b.results(args[0])
	case "configure": // queue [pending=10] [rate=5] [burst=3] [opcodes=0x3]
		return b.configure(args)
	case "lose":
		b.ledger.Lost(b.now)
	case "write", "read": // queue offset words
		return b.transfer(args, name == "write")
	case "books": // what is left
		s := b.ledger.Stats()
		b.printf("%d pending, %d of %d pages free, %d queues", s.Pending, s.FreePages, b.cfg.Pages, len(s.Queues))
	case "stats": // queue
		for _, q := range b.ledger.Stats().Queues {
			if q.Name == args[0] {
				b.printf("%s: pending %d, classes %v, %d executed, %d faulted", q.Name, b.ledger.Pending(q.Name), q.Classes, q.Executed, q.Faulted)
			}
		}
	default:
		return errors.New("unknown command")
	}
	return nil
}

// fields splits arguments into numbers by their names; a name alone is 1.
func fields(args []string) map[string]string {
	m := map[string]string{}
	for _, arg := range args {
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			value = "1"
		}
		m[name] = value
	}
	return m
}

func number(text string) int {
	n, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		panic(err)
	}
	return int(n)
}

func (b *book) config(args []string) error {
	for name, value := range fields(args) {
		switch name {
		case "pages":
			b.cfg.Pages = number(value)
		case "windows":
			b.cfg.Windows = number(value)
		case "pending":
			b.cfg.MaxPending = number(value)
		case "batch":
			b.cfg.MaxBatchSlots = number(value)
		case "quota":
			b.cfg.Queue.MaxPending = number(value)
		case "steps": // most steps of a wave, summed over its opcodes' kinds
			most := uint32(number(value))
			b.cfg.Fits = func(opcodes uint64, steps uint32) bool {
				kinds := uint32(0)
				for ; opcodes != 0; opcodes &= opcodes - 1 {
					kinds++
				}
				return kinds*steps <= most
			}
		default:
			return fmt.Errorf("no field %s", name)
		}
	}
	return nil
}

// slotsOf reads slots: 300@2 is 300 of priority 2, 5:10@1 is ten of opcode 5, fence is one.
func slotsOf(text string) (slots []ring.Slot, ok bool) {
	if text == "fence" {
		return []ring.Slot{{Opcode: testFence}}, true
	}
	count, priority, ok := strings.Cut(text, "@")
	if !ok {
		return nil, false
	}
	opcode := uint32(0)
	if op, rest, found := strings.Cut(count, ":"); found {
		opcode, count = uint32(number(op)), rest
	}
	for range number(count) {
		slots = append(slots, ring.Slot{Opcode: opcode, Priority: uint32(number(priority))})
	}
	return slots, true
}

func (b *book) submit(args []string) error {
	queue, work := args[0], Batch{ID: args[1]}
	var rest []string
	var p Profile
	for _, arg := range args[2:] {
		slots, ok := slotsOf(arg)
		if !ok {
			rest = append(rest, arg)
			continue
		}
		work.Slots = append(work.Slots, slots...)
		for i := range slots {
			p.Opcodes |= 1 << slots[i].Opcode
		}
	}
	f := fields(rest)
	if f["deadline"] != "" {
		d, err := time.ParseDuration(f["deadline"])
		if err != nil {
			return err
		}
		work.Deadline = b.now.Add(d)
	}
	if f["epoch"] != "" {
		work.Epoch = uint64(number(f["epoch"]))
	}
	if f["steps"] != "" {
		p.Steps = uint32(number(f["steps"]))
	}
	work.WantResults, p.Repeatable = f["results"] != "", f["repeatable"] != ""
	work.Slots, work.Runs = b.encoding(work.Slots)
	err := b.ledger.Check(&work)
	var entry *Entry
	if err == nil {
		entry, err = b.ledger.NewEntry(work, p)
	}
	var extents []Extent
	if err == nil {
		extents, err = b.ledger.Submit(b.now, nil, queue, entry)
	}
	b.reused()
	if err != nil {
		b.printf("%s: %v", work.ID, err)
		return nil
	}
	if f["hold"] != "" {
		b.write(extents)
		b.extents[work.ID] = extents
		return nil
	}
	b.publish(extents)
	return nil
}

func (b *book) reused() {
	for {
		w, ok := b.ledger.Reused()
		if !ok {
			return
		}
		b.printf("clear words %d to %d for tenant %#x", w.Base, w.Base+w.Length, w.Tenant)
	}
}

func (b *book) write(extents []Extent) {
	gather := make([]ring.Slot, 0, ring.PageSlots)
	for i := range extents {
		b.ledger.Slots(&extents[i], gather)
	}
}

func (b *book) publish(extents []Extent) {
	b.write(extents)
	b.ledger.Publish(b.now, extents)
}

func (b *book) wave(args []string) error {
	name, queue, depth := args[0], args[1], 0
	if len(args) > 2 {
		depth = number(args[2])
	}
	w := &Wave{}
	if err := b.ledger.Begin(b.now, w, queue, depth); err != nil {
		b.printf("%s: %v", name, err)
		return nil
	}
	b.publish(b.ledger.Reserve(nil, w))
	later := b.ledger.Plan(w)
	if w.Slots == 0 {
		b.ledger.Return(b.now, w)
		b.printf("%s: nothing, limited %t, later %t", name, w.Limited, later)
		return nil
	}
	b.waves[name] = w
	var pages []string
	for _, entry := range w.Schedule {
		pages = append(pages, fmt.Sprintf("%d:%d", entry.Page(), entry.Count()))
	}
	b.printf("%s: %d slots, pages %s", name, w.Slots, strings.Join(pages, " "))
	return nil
}

func (b *book) done(args []string) error {
	w := b.waves[args[0]]
	delete(b.waves, args[0])
	f := fields(args[1:])
	at := func(name string) int {
		if f[name] == "" {
			return 0
		}
		return number(f[name])
	}
	play(w, at("fault"), at("again"), at("left"))
	c := control(w)
	c.Executed += uint32(at("wrong"))
	if err := w.Collect(&c); err != nil {
		b.printf("%s: %v", args[0], err)
		b.ledger.Return(b.now, w)
		return nil
	}
	if err := b.ledger.Settle(b.now, w); err != nil {
		return err
	}
	b.printf("%s: %d executed, %d faulted, %d left, pending %d",
		args[0], w.Executed, w.Faulted, w.Slots-int(w.Executed+w.Faulted), w.Pending())
	b.results(w.queue.name)
	return nil
}

// play lets the device run a wave: its last slots fault, go round again, or are not reached.
func play(w *Wave, fault, again, left int) {
	w.CopyStatuses()
	at := 0
	w.Each(func(place int, s *ring.Slot, status ring.Status) {
		at++
		switch {
		case at > w.Slots-left:
		case at > w.Slots-left-again:
			w.Statuses[place] = status.Attempted().With(ring.Yielded)
		case at > w.Slots-left-again-fault:
			w.Statuses[place] = status.Attempted().WithFault(ring.FaultUser)
		default:
			w.Statuses[place] = status.Attempted().With(ring.Done)
		}
		if w.Results {
			w.Words[place] = s.Sequence + 1
		}
	})
}

// control is the control block that goes with what play left.
func control(w *Wave) (c ring.Control) {
	w.Each(func(place int, _ *ring.Slot, _ ring.Status) {
		switch w.Statuses[place].State() {
		case ring.Done:
			c.Executed++
		case ring.Fault:
			c.Faulted++
		case ring.Yielded:
			c.Again++
		}
	})
	return c
}

func (b *book) results(queue string) {
	for _, r := range b.ledger.Finished(queue) {
		line := fmt.Sprintf("%s.%s: %d executed, %d faulted, %d dropped", queue, r.ID, r.Executed, r.Faulted, r.Dropped)
		if r.Err != nil {
			line += ": " + r.Err.Error()
		}
		if len(r.Results) > 0 {
			line += fmt.Sprintf(", results %d", r.Results)
		}
		if len(r.Faults) > 0 {
			line += fmt.Sprintf(", faults %v", r.Faults)
		}
		b.printf("%s", line)
	}
}

func (b *book) configure(args []string) error {
	var o QueueOptions
	for name, value := range fields(args[1:]) {
		switch name {
		case "pending":
			o.MaxPending = number(value)
		case "rate":
			o.Rate = float64(number(value))
		case "burst":
			o.Burst = number(value)
		case "opcodes":
			o.Opcodes = uint64(number(value))
		}
	}
	if err := b.ledger.Configure(b.now, args[0], o); err != nil {
		b.printf("%v", err)
	}
	return nil
}

func (b *book) transfer(args []string, write bool) error {
	w, epoch, err := b.ledger.Transfer(b.now, args[0], uint32(number(args[1])), number(args[2]), write)
	b.reused()
	if err != nil {
		b.printf("%v", err)
		return nil
	}
	b.printf("%s: words %d to %d of tenant %#x, epoch %d", args[0], w.Base, w.Base+w.Length, w.Tenant, epoch)
	return nil
}
