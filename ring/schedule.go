package ring

// Quanta are the slots each priority may schedule in one round of the
// deficit round robin (M. Shreedhar and G. Varghese, "Efficient Fair Queueing
// Using Deficit Round-Robin", SIGCOMM 1995). The least urgent priority gets
// one page of every 31, so it is served slowly and never starved; no quantum
// is below a page, so a round always makes progress.
var Quanta = [Priorities]int{16 * PageSlots, 8 * PageSlots, 4 * PageSlots, 2 * PageSlots, PageSlots}

// maxDebt is how many quanta a priority may have been served ahead of its turn.
const maxDebt = 4

// Queue holds the pages of one work queue that wait for a wave, in the order
// they were filled, and picks what the next wave runs. A page that is in a
// wave is not in the queue; Return puts it back.
//
// A plan is made in three steps. First, a priority that has had work, and was
// not served, for more plans than the ageing threshold gets one page, the
// longest waiting first, until a quarter of the wave is taken. Then critical work is taken,
// as long as it is less than a quantum ahead of its turn: work that is
// critical and not a flood does not wait for other priorities. The rest of
// the wave is deficit round robin. Whatever the first two steps take is
// charged to the priority's deficit, so that over many waves the shares are
// those of the quanta.
type Queue struct {
	fifo     [Priorities]deque  // pages, oldest first
	deficit  [Priorities]int    // negative: served ahead of its turn
	priority int                // whose turn it is
	credited bool               // it has had its quantum of this round
	clock    uint32             // plans made
	served   [Priorities]uint32 // clock when a page of each priority was last scheduled
	before   [Priorities]uint32 // served before the last plan
}

// Push adds a page behind the other pages of its priority.
func (q *Queue) Push(pool *Pool, number uint32) {
	pg := &pool.pages[number]
	pg.since = q.clock
	q.fifo[pg.priority].pushBack(number)
}

// Return puts a page that a wave left with live slots back: in front of its
// priority, or behind it if its slots asked to be run later, so that slots
// which yield for ever do not hold up those behind them.
func (q *Queue) Return(pool *Pool, number uint32, behind bool) {
	pg := &pool.pages[number]
	pg.flying = false
	pg.since = q.clock
	if behind {
		q.fifo[pg.priority].pushBack(number)
	} else {
		q.fifo[pg.priority].pushFront(number)
	}
}

// Undo puts a page of the last plan back as if the plan had left it out: in front of
// its priority, with the time it has waited unchanged. live is the number of slots that
// the plan counted for it.
func (q *Queue) Undo(pool *Pool, number uint32, live int) {
	pg := &pool.pages[number]
	pg.flying = false
	q.fifo[pg.priority].pushFront(number)
	q.served[pg.priority] = q.before[pg.priority]
	q.deficit[pg.priority] += live
}

// Last is the youngest page of a priority.
func (q *Queue) Last(priority uint32) (number uint32, ok bool) { return q.fifo[priority].back() }

// Each calls fn for every page in the queue; fn does not change the queue.
func (q *Queue) Each(fn func(number uint32)) {
	for p := range q.fifo {
		for _, number := range q.fifo[p].pages() {
			fn(number)
		}
	}
}

// Waiting is the number of slots of a priority that could be scheduled.
func (q *Queue) Waiting(pool *Pool, priority uint32) int {
	n := 0
	for _, number := range q.fifo[priority].pages() {
		n += pool.pages[number].live
	}
	return n
}

// Remove takes the pages for which gone holds out of the queue.
func (q *Queue) Remove(gone func(number uint32) bool) {
	for p := range q.fifo {
		q.fifo[p].filter(func(number uint32) bool { return !gone(number) })
	}
}

// planner is one plan in the making.
type planner struct {
	*Queue
	pool    *Pool
	next    [Priorities]int // first page of each priority that was not looked at yet
	dst     []Entry
	planned int
	depth   int
}

// Plan appends to dst the schedule of the next wave, together at most depth
// slots that are published, and returns it with that number of slots. Pages of
// one priority are scheduled oldest first; one that is being written is left
// out. The scheduled pages are sealed and leave the queue. ageing is the
// number of plans that a priority waits before it is served out of turn.
func (q *Queue) Plan(dst []Entry, pool *Pool, depth int, ageing uint32) ([]Entry, int) {
	q.clock++
	q.before = q.served
	p := planner{Queue: q, pool: pool, dst: dst, depth: depth}
	p.aged(ageing)
	p.critical()
	p.rounds()
	for priority := range q.fifo {
		if p.next[priority] > 0 {
			q.fifo[priority].filter(func(number uint32) bool { return !pool.pages[number].flying })
		}
	}
	return p.dst, p.planned
}

// aged takes one page of each priority that waited too long.
func (p *planner) aged(ageing uint32) {
	limit := (p.depth + 3) / 4
	var taken [Priorities]bool
	for p.planned < limit {
		oldest, longest := -1, ageing
		for priority := range Priorities {
			number, ok := p.peek(priority)
			if !ok || taken[priority] {
				continue
			}
			since := p.pool.pages[number].since
			if waited := min(p.clock-since, p.clock-p.served[priority]); waited > longest {
				oldest, longest = priority, waited
			}
		}
		if oldest < 0 {
			return
		}
		p.take(oldest)
		taken[oldest] = true
	}
}

// critical takes critical pages ahead of their turn.
func (p *planner) critical() {
	for p.planned < p.depth && p.deficit[PriorityCritical] > -Quanta[PriorityCritical] {
		if _, ok := p.peek(PriorityCritical); !ok {
			return
		}
		p.take(PriorityCritical)
	}
}

// rounds goes on with the deficit round robin where the last plan stopped.
func (p *planner) rounds() {
	for idle := 0; p.planned < p.depth && idle < Priorities; {
		turn := p.priority
		if !p.credited {
			p.deficit[turn] += Quanta[turn]
			p.credited = true
		}
		if _, ok := p.peek(turn); !ok {
			// Nothing to do: an idle priority saves up no credit.
			p.deficit[turn] = min(p.deficit[turn], 0)
			p.advance()
			idle++
			continue
		}
		idle = 0
		for p.planned < p.depth {
			number, ok := p.peek(turn)
			if !ok {
				break
			}
			if p.pool.pages[number].live > p.deficit[turn] {
				p.advance()
				break
			}
			p.take(turn)
		}
	}
}

// peek is the next page of a priority that can be scheduled.
func (p *planner) peek(priority int) (number uint32, ok bool) {
	pages := p.fifo[priority].pages()
	for p.next[priority] < len(pages) {
		number = pages[p.next[priority]]
		if p.pool.ready(number) {
			return number, true
		}
		p.next[priority]++
	}
	return 0, false
}

// take schedules the page that peek found, as far as the wave has room.
func (p *planner) take(priority int) {
	number, _ := p.peek(priority)
	count, live := p.pool.prefix(number, p.depth-p.planned)
	pg := &p.pool.pages[number]
	pg.sealed, pg.flying = true, true
	p.served[priority] = p.clock
	p.dst = append(p.dst, NewEntry(number, count))
	p.deficit[priority] = max(p.deficit[priority]-live, -maxDebt*Quanta[priority])
	p.planned += live
	p.next[priority]++
}

// advance passes the turn to the next priority.
func (q *Queue) advance() {
	q.priority = (q.priority + 1) % Priorities
	q.credited = false
}
