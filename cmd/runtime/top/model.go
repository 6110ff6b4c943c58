package top

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"ringmaster/cmd/runtime/fleetview"
)

// lookEvery is how often the screen is made anew.
const lookEvery = 500 * time.Millisecond

// tab is one of the views.
type tab uint8

const (
	tabQueues tab = iota
	tabWorkers
	tabLog
	tabs
)

var tabNames = [tabs]string{"queues", "workers", "log"}

// screen is what is shown and where the user is. It is a value: keys and looks make another of it.
type screen struct {
	bus           string // which server, for the first line
	width, height int
	snap          fleetview.Snapshot
	detail        *fleetview.Detail // of the page that is open
	paused        bool
	help          bool

	tab     tab
	order   int // index in orders
	reverse bool
	wrong   bool   // only what is wrong
	filter  string // queues whose name contains it
	typing  bool   // the filter is being typed

	at     queueID // under the cursor
	top    int     // first row that is shown
	scroll int     // of the page or the log
}

type queueID struct{ worker, queue string }

func idOf(q *queueRow) queueID { return queueID{q.Worker, q.Queue} }

// rows are the queues that are shown, in order.
func (s *screen) rows() []queueRow {
	rows := make([]queueRow, 0, len(s.snap.Queues))
	for i := range s.snap.Queues {
		q := &s.snap.Queues[i]
		if (!s.wrong || q.State.Wrong()) && (s.filter == "" || strings.Contains(strings.ToLower(queueLabel(q)), strings.ToLower(s.filter))) {
			rows = append(rows, *q)
		}
	}
	compare := orders[s.order].compare
	slices.SortStableFunc(rows, func(a, b queueRow) int { // they come sorted by name
		by := compare(&a, &b)
		if by == 0 && orders[s.order].name == "name" {
			by = cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Queue, b.Queue))
		}
		if s.reverse {
			return -by
		}
		return by
	})
	return rows
}

// counts are how many queues are wrong, and in which ways.
func (s *screen) counts() (wrong int, ways string) {
	of := make(map[fleetview.State]int)
	for i := range s.snap.Queues {
		if state := s.snap.Queues[i].State; state.Wrong() {
			of[state]++
			wrong++
		}
	}
	var words []string
	for state := fleetview.Lapsed; state.Wrong(); state-- {
		if of[state] > 0 {
			words = append(words, fmt.Sprintf("%d %v", of[state], state))
		}
	}
	return wrong, strings.Join(words, ", ")
}

// model drives a screen in bubbletea.
type model struct {
	screen
	source fleetview.Source
}

type tick time.Time

func again() tea.Cmd { return tea.Tick(lookEvery, func(at time.Time) tea.Msg { return tick(at) }) }

// Init is called once, before the first key.
func (m *model) Init() tea.Cmd { return again() }

// Update takes a key, a new size or the time for another look.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tick:
		m.look()
		return m, again()
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case tea.KeyPressMsg:
		if m.key(msg.String(), msg.Text) {
			return m, tea.Quit
		}
		m.open()
	case tea.PasteMsg:
		if m.typing {
			m.typeFilter("", clean(msg.Content))
		}
	}
	return m, nil
}

// look takes what the source knows now, unless the user has stopped the screen.
func (m *model) look() {
	if m.paused {
		return
	}
	m.snap = m.source.Look()
	m.open()
}

// open fetches what is known of the queue whose page is open.
func (m *model) open() {
	if m.detail != nil && !m.paused {
		if d, ok := m.source.Detail(m.at.worker, m.at.queue); ok {
			m.detail = &d
		}
	}
}

// View is the screen as lines.
func (m *model) View() tea.View {
	v := tea.NewView(m.screen.draw())
	v.AltScreen = true
	v.WindowTitle = "ringmaster top"
	return v
}
