package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"
)

// FactsPerPass is how many facts a dataflow pass has room for: one bit of a word each.
const FactsPerPass = 32

// Bounds of a file of facts.
const (
	MaxFacts    = 4096
	maxFactName = 64 // bytes
)

// Facts is a dataflow problem as a file states it: for each node the facts that enter
// there from outside, that it generates and that it kills. docs/graphs.md describes the
// file.
type Facts struct {
	Names []string // of the facts, in the order in which the file mentions them first
	rows  []factRow
}

// factRow is a line of the file.
type factRow struct {
	node              uint64
	line              uint64
	entry, gen, kills []uint32 // numbers of facts
}

// ReadFacts reads a file of facts, compressed with gzip or not, of at most the given
// number of bytes unpacked; 0 is no bound. An error in a line is a *LineError.
func ReadFacts(r io.Reader, most uint64) (*Facts, error) {
	in, err := unpacked(r, most)
	if err != nil {
		return nil, err
	}
	p := factParser{numbers: make(map[string]uint32), nodes: make(map[uint64]uint64)}
	lines := bufio.NewScanner(in)
	lines.Buffer(make([]byte, 1<<16), block)
	for lines.Scan() {
		p.line++
		if err := p.parse(lines.Bytes()); err != nil {
			return nil, &LineError{p.line, err}
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, &LineError{p.line + 1, fmt.Errorf("longer than %d bytes", block)}
	case err != nil:
		return nil, readError(err)
	}
	return &p.facts, nil
}

// Passes is how many passes all facts take; 1 if there are none.
func (f *Facts) Passes() int { return max(1, (len(f.Names)+FactsPerPass-1)/FactsPerPass) }

// factParser reads lines.
type factParser struct {
	facts   Facts
	line    uint64
	numbers map[string]uint32 // of the facts
	nodes   map[uint64]uint64 // lines of the nodes
	listed  []uint64          // by fact: the list, counted from 1 on, that mentioned it last
	lists   uint64
}

// parse reads a line: a node, and behind "entry", "gen" and "kill" facts, separated by commas.
func (p *factParser) parse(data []byte) error {
	if data = bytes.TrimLeft(data, " \t\r"); p.line == 1 {
		data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	}
	if len(data) == 0 || data[0] == '#' || data[0] == '%' {
		return nil
	}
	words := bytes.FieldsFunc(data, func(r rune) bool { return r == ' ' || r == '\t' || r == '\r' })
	row := factRow{line: p.line}
	node, rest, err := number(words[0])
	if err == nil && len(rest) > 0 {
		err = errNumber
	}
	if err != nil {
		return fmt.Errorf("node %s %w", word(words[0]), err)
	}
	if before := p.nodes[node]; before != 0 {
		return fmt.Errorf("node %d has line %d already; a node has one line", node, before)
	}
	if len(words) == 1 {
		return fmt.Errorf("node %d has neither entry, gen nor kill; is the file cut off?", node)
	}
	row.node, p.nodes[node] = node, p.line
	for words = words[1:]; len(words) > 0; words = words[2:] {
		list := row.list(string(words[0]))
		switch {
		case list == nil:
			return fmt.Errorf("%s; behind the node come entry, gen and kill, each followed by facts a,b,c", word(words[0]))
		case *list != nil:
			return fmt.Errorf("%s is there twice", words[0])
		case len(words) == 1:
			return fmt.Errorf("%s is followed by no facts; is the file cut off?", words[0])
		}
		if *list, err = p.list(words[1]); err != nil {
			return fmt.Errorf("%s: %w", words[0], err)
		}
	}
	p.facts.rows = append(p.facts.rows, row)
	return nil
}

// list is the row's list behind a keyword, nil if the word is none.
func (r *factRow) list(keyword string) *[]uint32 {
	switch keyword {
	case "entry":
		return &r.entry
	case "gen":
		return &r.gen
	case "kill":
		return &r.kills
	}
	return nil
}

// list reads facts that are separated by commas.
func (p *factParser) list(data []byte) ([]uint32, error) {
	p.lists++
	var facts []uint32
	for name := range bytes.SplitSeq(data, []byte(",")) {
		fact, err := p.fact(name)
		if err != nil {
			return nil, err
		}
		if p.listed[fact] == p.lists {
			return nil, fmt.Errorf("%s is there twice", word(name))
		}
		p.listed[fact] = p.lists
		facts = append(facts, fact)
	}
	return facts, nil
}

// fact is the number of a fact.
func (p *factParser) fact(name []byte) (uint32, error) {
	if number, ok := p.numbers[string(name)]; ok {
		return number, nil
	}
	switch {
	case len(name) == 0:
		return 0, errors.New("a fact without a name, before or behind a comma; is the file cut off?")
	case len(name) > maxFactName:
		return 0, fmt.Errorf("fact %s has more than %d bytes", word(name), maxFactName)
	case !utf8.Valid(name) || bytes.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }):
		return 0, fmt.Errorf("fact %s has what cannot be printed in its name", word(name))
	case (&factRow{}).list(string(name)) != nil:
		return 0, fmt.Errorf("%s is no name of a fact", name)
	case len(p.facts.Names) == MaxFacts:
		return 0, fmt.Errorf("%w: fact %s is one more than %d", ErrLimit, word(name), MaxFacts)
	}
	number := uint32(len(p.facts.Names))
	p.numbers[string(name)] = number
	p.facts.Names = append(p.facts.Names, string(name))
	p.listed = append(p.listed, 0)
	return number, nil
}
