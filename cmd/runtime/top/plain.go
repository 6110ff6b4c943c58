package top

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"ringmaster/cmd/runtime/text"
)

// plain is a look as text without colours: what is wrong, then the tables.
func (s *screen) plain() string {
	wrong, ways := s.counts()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %d wrong", s.snap.At.Format(time.DateTime), text.Plural(uint64(len(s.snap.Queues)), "queue"), wrong)
	if wrong > 0 {
		fmt.Fprintf(&b, ": %s", ways)
	}
	if s.snap.Beyond > 0 {
		fmt.Fprintf(&b, "; %s more without a row", text.Grouped(s.snap.Beyond))
	}
	b.WriteByte('\n')
	for _, said := range s.snap.Unheard {
		fmt.Fprintf(&b, "unknown: %s\n", clean(said))
	}
	blocks := [][]string{
		tableLines(queueColumns, s.rows(), s.width, s.nothing()),
		tableLines(workerColumns, s.snap.Workers, s.width, "no worker has announced itself"),
		tableLines(runtimeColumns, s.snap.Runtimes, s.width, "no runtime has answered"),
	}
	for _, lines := range blocks {
		b.WriteByte('\n')
		for _, line := range lines {
			b.WriteString(ansi.Strip(line) + "\n")
		}
	}
	return b.String()
}
