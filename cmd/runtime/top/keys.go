package top

import (
	"slices"
	"strings"
	"unicode/utf8"

	"ringmaster/cmd/runtime/fleetview"
)

// maxFilter bounds what is typed.
const maxFilter = 130

// key takes a key by its name, and the text that it types. It reports whether the user wants to leave.
func (s *screen) key(name, typed string) (quit bool) {
	switch {
	case name == "ctrl+c":
		return true
	case s.typing:
		s.typeFilter(name, typed)
	case s.help:
		s.help = false
	case name == "q":
		return true
	case name == "?" || name == "h" || name == "f1":
		s.help = true
	case name == "space" || name == " ":
		s.paused = !s.paused
	case name == "esc" || name == "left" || name == "backspace":
		s.back()
	case s.detail != nil || s.tab == tabLog:
		s.scrollKey(name)
	default:
		s.tableKey(name)
	}
	return false
}

// back leaves the page, the filter or the tab, whichever is open.
func (s *screen) back() {
	switch {
	case s.detail != nil:
		s.detail, s.scroll = nil, 0
	case s.filter != "" || s.wrong:
		s.filter, s.wrong = "", false
	default:
		s.show(tabQueues)
	}
}

func (s *screen) show(t tab) { s.tab, s.detail, s.scroll = t, nil, 0 }

func (s *screen) typeFilter(name, typed string) {
	switch name {
	case "enter":
		s.typing = false
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		_, last := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-last]
	default:
		if s.filter+typed == clean(s.filter+typed) && len(s.filter)+len(typed) <= maxFilter {
			s.filter += typed
		}
	}
	s.top = 0
}

// tabKey changes the view.
func (s *screen) tabKey(name string) bool {
	switch name {
	case "1", "2", "3":
		s.show(tab(name[0] - '1'))
	case "tab", "right":
		s.show((s.tab + 1) % tabs)
	case "shift+tab":
		s.show((s.tab + tabs - 1) % tabs)
	default:
		return false
	}
	return true
}

// scrollKey moves in what has no cursor: the page of a queue, and the log.
func (s *screen) scrollKey(name string) {
	if s.tabKey(name) {
		return
	}
	s.scroll = max(0, s.scroll+s.step(name))
	if name == "home" || name == "g" {
		s.scroll = 0
	}
}

// step is how many rows a key moves.
func (s *screen) step(name string) int {
	page := max(1, s.bodyRows()-1)
	switch name {
	case "up", "k":
		return -1
	case "down", "j":
		return 1
	case "pgup", "ctrl+b":
		return -page
	case "pgdown", "ctrl+f":
		return page
	case "end", "G":
		return 1 << 20
	case "home", "g":
		return -1 << 20
	}
	return 0
}

// tableKey takes a key over the tables.
func (s *screen) tableKey(name string) {
	if s.tabKey(name) || s.tab != tabQueues {
		return
	}
	switch name {
	case "/":
		s.typing = true
	case "s":
		s.order = (s.order + 1) % len(orders)
	case "S":
		s.order = (s.order + len(orders) - 1) % len(orders)
	case "r":
		s.reverse = !s.reverse
	case "w":
		s.wrong, s.top = !s.wrong, 0
	case "enter":
		if at, rows := s.cursor(); len(rows) > 0 {
			s.at, s.detail, s.scroll = idOf(&rows[at]), &fleetview.Detail{Queue: rows[at]}, 0
		}
	default:
		s.move(s.step(name))
	}
}

// move moves the cursor over the table.
func (s *screen) move(by int) {
	at, rows := s.cursor()
	if by != 0 && len(rows) > 0 {
		s.at = idOf(&rows[min(max(at+by, 0), len(rows)-1)])
	}
}

// cursor is the row of the queue that the user has gone to, wherever it is sorted now; the first if there is none.
func (s *screen) cursor() (at int, rows []queueRow) {
	rows = s.rows()
	at = slices.IndexFunc(rows, func(q queueRow) bool { return idOf(&q) == s.at })
	return max(at, 0), rows
}

// helpLines are the keys.
var helpLines = strings.Split(strings.Trim(`
 up down j k     the row above, below          enter   the queue's page
 pgup pgdown     a screen                      esc     back
 home end g G    the first row, the last       1 2 3   queues, workers, log
 s S             sort by the next column, the one before; r the other way round
 /               only queues whose name contains a text
 w               only queues with which something is wrong
 space           stop the screen, and go on
 q               leave

 STATE  what is wrong, the worst first: EXPIRED nobody decides, no plan, failing
        launches, waiting work of which nothing runs, refused records, undecided
 WAIT   slots that wait, by those that are executed in a second
 ANSWER from a record's sending to its recommendation here     } 50, 99: of a
 DONE   from a batch's submission to its done record here      } hundred, 1 min
 STORED batches in the stream that are not done
 TEN MINUTES  i interpreter, j compiled; 0 s h d f m walk; ! no plan, X expired
`, "\n"), "\n")
