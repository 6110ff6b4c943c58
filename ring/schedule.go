package ring

// Quanta are the slots each priority may schedule in one round of the
// deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair Queueing
// Using Deficit Round-Robin", SIGCOMM 1995). The least urgent priority gets
// one page of every 31, so it is served slowly and never starved; no quantum
// is below a page, so a round always makes progress.
var Quanta = [Priorities]int{16 * PageSlots, 8 * PageSlots, 4 * PageSlots, 2 * PageSlots, PageSlots}

// Queue holds the pages of one work queue that still have slots to run, in
// the order they were filled, and picks what the next wave runs.
type Queue struct {
	fifo  [Priorities][]uint32 // pages, oldest first
	turn  turn
	saved turn // turn before the last Plan
}

// turn is where the round robin stands.
type turn struct {
	deficit  [Priorities]int
	priority int  // whose turn it is
	credited bool // it has had its quantum of this round
}

// Push adds a page behind the other pages of its priority.
func (q *Queue) Push(priority, number uint32) {
	q.fifo[priority] = append(q.fifo[priority], number)
}

// Last is the youngest page of a priority.
func (q *Queue) Last(priority uint32) (number uint32, ok bool) {
	f := q.fifo[priority]
	if len(f) == 0 {
		return 0, false
	}
	return f[len(f)-1], true
}

// Pages is the number of pages of a priority.
func (q *Queue) Pages(priority uint32) int { return len(q.fifo[priority]) }

// Live counts the slots of a priority that are not terminal.
func (q *Queue) Live(pool *Pool, priority uint32) int {
	n := 0
	for _, number := range q.fifo[priority] {
		n += pool.Live(number)
	}
	return n
}

// Plan appends to dst the schedule of the next wave: pages in deficit round
// robin order over the priorities, together at most depth slots that are not
// terminal, and returns it with that number of slots. Pages of one priority
// are scheduled oldest first. The scheduled pages are sealed and stay in the
// queue until Sweep finds them finished.
func (q *Queue) Plan(dst []Entry, pool *Pool, depth int) ([]Entry, int) {
	q.saved = q.turn
	var next [Priorities]int // first page of each priority that is not scheduled yet
	planned, idle := 0, 0
	for planned < depth && idle < Priorities {
		p := q.turn.priority
		if next[p] == len(q.fifo[p]) {
			// Nothing to do: an idle priority saves up no credit.
			q.turn.deficit[p] = 0
			q.turn.advance()
			idle++
			continue
		}
		idle = 0
		if !q.turn.credited {
			q.turn.deficit[p] += Quanta[p]
			q.turn.credited = true
		}
		for next[p] < len(q.fifo[p]) && planned < depth {
			number := q.fifo[p][next[p]]
			if pool.Live(number) > q.turn.deficit[p] {
				q.turn.advance()
				break
			}
			count, live := pool.prefix(number, depth-planned)
			dst = append(dst, NewEntry(number, count))
			pool.pages[number].sealed = true
			q.turn.deficit[p] -= live
			planned += live
			next[p]++
		}
	}
	return dst, planned
}

// advance passes the turn to the next priority.
func (t *turn) advance() {
	t.priority = (t.priority + 1) % Priorities
	t.credited = false
}

// Abort takes back the turns of the last Plan, for a wave that did not run.
func (q *Queue) Abort() { q.turn = q.saved }

// Sweep releases the pages whose slots are all terminal and calls released
// for each. Pages with work left keep their places.
func (q *Queue) Sweep(pool *Pool, released func(number uint32)) error {
	for p := range q.fifo {
		kept := q.fifo[p][:0]
		for _, number := range q.fifo[p] {
			if pool.Live(number) > 0 {
				kept = append(kept, number)
				continue
			}
			if err := pool.Release(number); err != nil {
				return err
			}
			released(number)
		}
		q.fifo[p] = kept
	}
	return nil
}
