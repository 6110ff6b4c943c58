package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"ringmaster/cmd/runtime/fleetview"
	"ringmaster/cmd/runtime/text"
)

const (
	minWidth, minHeight = 40, 8
	paneFrom            = 18 // rows of a terminal from which the newest events have a pane of their own
	paneRows            = 4  // with its title
)

// draw is the screen as lines, exactly as many as the terminal has rows.
func (s *screen) draw() string {
	if s.width < minWidth || s.height < minHeight {
		return s.tooSmall()
	}
	lines := append(s.head(), "")
	switch {
	case s.help:
		lines = append(lines, helpLines...)
	case s.detail != nil:
		lines = append(lines, s.scrolled(s.page())...)
	case s.tab == tabWorkers:
		lines = append(lines, s.workers()...)
	case s.tab == tabLog:
		lines = append(lines, s.scrolled(s.log())...)
	default:
		lines = append(lines, s.queues()...)
	}
	body := s.height - 1 // above the keys
	if pane := s.pane(); len(pane) > 0 {
		body -= len(pane)
		lines = append(fill(lines, body), pane...)
	}
	lines = append(fill(lines, s.height-1), s.keysLine())
	for i := range lines {
		lines[i] = cut(lines[i], s.width)
	}
	return strings.Join(lines, "\n")
}

// fill makes lines exactly so many.
func fill(lines []string, rows int) []string {
	for len(lines) < rows {
		lines = append(lines, "")
	}
	return lines[:rows]
}

func (s *screen) tooSmall() string {
	if s.width == 0 {
		return "" // nobody has said how large it is
	}
	said := fmt.Sprintf("This terminal has %d columns and %d rows. ringmaster top needs %d and %d: make it larger, or use --plain. q leaves.",
		s.width, s.height, minWidth, minHeight)
	lines := strings.Split(text.Wrap(said, 0, s.width), "\n")
	return strings.Join(fill(lines, max(s.height, 1)), "\n")
}

// headRows are those of head and the empty line below it.
const headRows = 3

// head is what a person sees first: whether something is wrong.
func (s *screen) head() []string {
	wrong, ways := s.counts()
	all := text.Plural(uint64(len(s.snap.Queues)), "queue")
	verdict, paint := "all right: "+all, good
	switch {
	case len(s.snap.Queues) == 0:
		verdict, paint = "no queue heard yet", dim
	case wrong > 0:
		verdict, paint = fmt.Sprintf("%d of %s: %s", wrong, all, ways), alarm
	}
	if silent := s.silentWorkers(); silent > 0 {
		verdict, paint = verdict+fmt.Sprintf("; %s silent", text.Plural(uint64(silent), "worker")), alarm
	}
	if s.snap.Beyond > 0 {
		verdict += fmt.Sprintf("; %s more without a row", text.Grouped(s.snap.Beyond))
	}
	left := strong.on("ringmaster top") + "  " + paint.on(clean(verdict))
	var names []string
	for t := range tabs {
		name := fmt.Sprintf("%d %s", t+1, tabNames[t])
		if t == s.tab {
			name = chosen.on(name)
		}
		names = append(names, name)
	}
	second := strings.Join(names, "  ") + dim.on(s.sortedBy())
	if len(s.snap.Unheard) > 0 {
		second += "  " + warn.on("unknown: "+clean(s.snap.Unheard[0]))
	}
	return []string{beside(left, dim.on(s.clock()), s.width), beside(second, dim.on(clean(s.bus)), s.width)}
}

func (s *screen) silentWorkers() (n int) {
	for i := range s.snap.Workers {
		if s.snap.Workers[i].State.Wrong() {
			n++
		}
	}
	return n
}

func (s *screen) sortedBy() string {
	if s.tab != tabQueues || s.detail != nil {
		return ""
	}
	said := "  by " + orders[s.order].name
	if s.reverse {
		said += ", reversed"
	}
	if s.wrong {
		said += ", only wrong ones"
	}
	if s.filter != "" || s.typing {
		said += ", with /" + clean(s.filter)
		if s.typing {
			said += "▏"
		}
	}
	return said
}

func (s *screen) clock() string {
	switch {
	case s.paused:
		return "stopped " + s.snap.At.Format(time.TimeOnly)
	case s.snap.At.IsZero():
		return ""
	}
	return s.snap.At.Format(time.TimeOnly)
}

// beside puts two texts at the ends of a line, the second one only where there is room.
func beside(left, right string, width int) string {
	room := width - ansi.StringWidth(left) - ansi.StringWidth(right)
	if room < 2 {
		return left
	}
	return left + strings.Repeat(" ", room) + right
}

// bodyRows are those between the head and what is below the table.
func (s *screen) bodyRows() int { return max(1, s.height-headRows-1-len(s.pane())) }

// queues is the table of queues, scrolled so that the cursor is in it.
func (s *screen) queues() []string {
	at, rows := s.cursor()
	room := max(1, s.bodyRows()-1)
	if at < s.top {
		s.top = at
	}
	if at >= s.top+room {
		s.top = at - room + 1
	}
	s.top = max(0, min(s.top, len(rows)-room))
	shown := rows[s.top:min(s.top+room, len(rows))]
	columns, widths := fit(queueColumns, rows, s.width-2)
	lines := []string{"  " + dim.on(drawTitles(columns, widths))}
	for i := range shown {
		if s.top+i == at {
			lines = append(lines, chosen.on("> "+pad(drawRow(columns, widths, &shown[i], true), s.width-2, false)))
		} else {
			lines = append(lines, "  "+drawRow(columns, widths, &shown[i], false))
		}
	}
	if len(rows) == 0 {
		lines = append(lines, "  "+s.nothing())
	}
	return lines
}

// nothing says why there is no row.
func (s *screen) nothing() string {
	switch {
	case len(s.snap.Queues) == 0:
		return "waiting for recommendations: they come within seconds where a runtime is up on this prefix"
	case s.wrong && s.filter == "":
		return "nothing is wrong with any queue; w shows all"
	}
	return "no queue is called so; esc shows all"
}

// workers are the tables of workers and of the processes that decide.
func (s *screen) workers() []string {
	lines := tableLines(workerColumns, s.snap.Workers, s.width, "no worker has announced itself")
	lines = append(lines, "")
	return append(lines, tableLines(runtimeColumns, s.snap.Runtimes, s.width, "no runtime has answered")...)
}

func tableLines[R any](columns []column[R], rows []R, width int, none string) []string {
	fitting, widths := fit(columns, rows, width)
	lines := []string{dim.on(drawTitles(fitting, widths))}
	for i := range rows {
		lines = append(lines, drawRow(fitting, widths, &rows[i], false))
	}
	if len(rows) == 0 {
		lines = append(lines, dim.on(none))
	}
	return lines
}

// scrolled are the lines from where the user has gone to.
func (s *screen) scrolled(lines []string) []string {
	s.scroll = max(0, min(s.scroll, len(lines)-s.bodyRows()))
	return lines[s.scroll:]
}

// log are the events, the newest first.
func (s *screen) log() []string {
	lines := make([]string, 0, len(s.snap.Events)+1)
	for i := len(s.snap.Events) - 1; i >= 0; i-- {
		lines = append(lines, eventLine(&s.snap.Events[i]))
	}
	if s.snap.Stray != "" {
		lines = append(lines, warn.on("refused without a queue's name: "+clean(s.snap.Stray)))
	}
	for _, said := range s.snap.Unheard {
		lines = append(lines, warn.on("unknown: "+clean(said)))
	}
	if len(lines) == 0 {
		lines = append(lines, dim.on("nothing has gone wrong since "+s.snap.At.Format(time.TimeOnly)))
	}
	return lines
}

func eventLine(e *fleetview.Event) string {
	p := paintOf(e.State)
	if e.State == fleetview.OK {
		p = good
	}
	return fmt.Sprintf("%s  %s  %s  %s", e.At.Format(time.TimeOnly), p.on(pad(e.State.String(), 9, false)), clean(e.Name), clean(e.Text))
}

// pane are the newest events below the other views, none where there is no room or nothing to say.
func (s *screen) pane() []string {
	if s.height < paneFrom || s.tab == tabLog || s.help || len(s.snap.Events) == 0 {
		return nil
	}
	lines := []string{dim.on("─── log " + strings.Repeat("─", max(0, s.width-8)))}
	newest := s.snap.Events[max(0, len(s.snap.Events)-paneRows+1):]
	for i := range newest {
		lines = append(lines, eventLine(&newest[i]))
	}
	return lines
}

// keysLine are the keys that do something now.
func (s *screen) keysLine() string {
	switch {
	case s.typing:
		return dim.on("type a part of a name; enter keeps it, esc drops it")
	case s.help:
		return dim.on("any key: back")
	case s.detail != nil:
		return dim.on("↑↓ scroll  esc back  space stop  ? help  q leave")
	case s.tab == tabQueues:
		return dim.on("↑↓ row  enter page  s sort  / filter  w wrong only  2 workers  3 log  ? help  q leave")
	}
	return dim.on("↑↓ scroll  1 queues  2 workers  3 log  space stop  ? help  q leave")
}
