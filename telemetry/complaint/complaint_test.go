package complaint

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// lines is a log without times.
func lines() (*Log, *strings.Builder) {
	var out strings.Builder
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}
	return New(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{ReplaceAttr: drop}))), &out
}

func TestComplaintIsWrittenOnceAMinuteAndQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := lines()
		for i := range 3 {
			l.Warn("record refused", "w", "a", "reason", fmt.Sprint("no ", i))
			l.Warn("record refused", "w", "b")
		}
		l.Warn("launch failed", "w", "a")
		time.Sleep(Pause - 1)
		l.Warn("record refused", "w", "a")
		time.Sleep(time.Nanosecond)
		l.Warn("record refused", "w", "a")
		want := `level=WARN msg="record refused" worker=w queue=a reason="no 0"
level=WARN msg="record refused" worker=w queue=b
level=WARN msg="launch failed" worker=w queue=a
level=WARN msg="record refused" worker=w queue=a suppressed=3
`
		if out.String() != want {
			t.Errorf("got\n%swant\n%s", out, want)
		}
	})
}

func TestManySubjectsShareOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := lines()
		for i := range 2 * maxSubjects {
			l.Warn("record refused", "w", fmt.Sprint(i))
		}
		if n := strings.Count(out.String(), "\n"); n != maxSubjects+1 {
			t.Errorf("%d lines, want %d", n, maxSubjects+1)
		}
		time.Sleep(Pause)
		l.Warn("record refused", "w", "new")
		if n := len(l.lines); n > 3 {
			t.Errorf("%d subjects are remembered after a quiet minute", n)
		}
	})
}

// What was left out of a subject that never comes again is not kept for it for ever, or nothing else had a line.
func TestWhatWasLeftOutIsForgottenAtLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, out := lines()
		for i := range maxSubjects {
			l.Warn("record refused", "w", fmt.Sprint(i))
			l.Warn("record refused", "w", fmt.Sprint(i))
		}
		time.Sleep(Pause + oweFor)
		out.Reset()
		for _, queue := range []string{"a", "b"} {
			l.Warn("record refused", "w", queue)
		}
		if n := strings.Count(out.String(), "\n"); n != 2 {
			t.Errorf("%d lines after the flood:\n%s", n, out)
		}
	})
}

func TestAFloodOfNamesPaysForOneSearchASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := lines()
		for i := range maxSubjects + 1 {
			l.Warn("record refused", "w", fmt.Sprint(i))
		}
		for i := range 2 { // to be forgotten by a search; the flood's shared line is one too many
			l.lines[subject{"record refused", "w", fmt.Sprint(i)}].next = time.Now()
		}
		l.Warn("record refused", "w", "soon")
		if l.lines[subject{"record refused", "w", "soon"}] != nil {
			t.Error("the second search comes within a second")
		}
		time.Sleep(sweepPause)
		l.Warn("record refused", "w", "later")
		if l.lines[subject{"record refused", "w", "later"}] == nil {
			t.Error("a second later there is no search")
		}
	})
}
