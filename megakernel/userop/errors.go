package userop

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Error is one thing wrong with an opcode file.
type Error struct {
	File    string // path in its file system
	Line    int    // from 1; 0 if it is the file as a whole
	Message string // what is wrong and what to do
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.File + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Message)
}

// maxErrors is how many errors of one file are reported; one slip often
// breaks all that follows.
const maxErrors = 20

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []*Error
}

func (p *problems) add(line int, format string, args ...any) {
	p.list = append(p.list, &Error{File: p.file, Line: line, Message: fmt.Sprintf(format, args...)})
}

// err is all of them joined in the order of lines, nil if there is none.
func (p *problems) err() error {
	slices.SortStableFunc(p.list, func(a, b *Error) int { return cmp.Compare(a.Line, b.Line) })
	list := slices.CompactFunc(p.list, func(a, b *Error) bool { return *a == *b })
	var errs []error
	for i, e := range list {
		if i == maxErrors {
			errs = append(errs, &Error{File: p.file, Line: e.Line, Message: fmt.Sprintf("and %d more errors", len(list)-i)})
			break
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
