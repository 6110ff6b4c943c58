package graph

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// text reads lines of edges, block by block on all processors.
type text struct {
	in      *bufio.Reader
	limit   uint64 // most edges
	line    uint64 // lines read before
	grammar grammar
}

// piece is what a block of lines holds.
type piece struct {
	ends    []uint64 // tail, head, tail, head …
	weights []uint32 // one each two ends, if weighted
	known   bool     // whether a line has a weight is known
	weighed bool     // they have
	first   uint64   // line of the first edge within the block
	lines   uint64
	err     error
	fault   uint64 // line of err within the block, from 1 on
}

// read returns the pieces of all lines, in order, or the error of the first bad line.
func (t *text) read() ([]*piece, error) {
	var (
		pieces []*piece
		wait   sync.WaitGroup
		failed atomic.Bool
		edges  atomic.Uint64
		turns  = make(chan struct{}, runtime.GOMAXPROCS(0)+1)
		rest   []byte
		ended  error
	)
	for ended == nil && !failed.Load() {
		data := make([]byte, block)
		n := copy(data, rest)
		got, err := t.fill(data[n:])
		data = data[:n+got]
		ended, rest = err, nil
		p := &piece{}
		pieces = append(pieces, p)
		if ended == nil {
			end := bytes.LastIndexByte(data, '\n') + 1
			if end == 0 {
				p.err, p.fault = fmt.Errorf("longer than %d bytes", block), 1
				break
			}
			data, rest = data[:end], bytes.Clone(data[end:])
		} else if !errors.Is(ended, io.EOF) {
			data = data[:bytes.LastIndexByte(data, '\n')+1] // the line that the damage cut is not at fault
		}
		turns <- struct{}{}
		wait.Go(func() {
			p.parse(data, &t.grammar)
			if edges.Add(uint64(len(p.ends)/2)) > t.limit || p.err != nil {
				failed.Store(true)
			}
			<-turns
		})
	}
	wait.Wait()
	if err := t.first(pieces); err != nil {
		return nil, err
	}
	if ended != nil && !errors.Is(ended, io.EOF) {
		return nil, readError(ended)
	}
	return pieces, nil
}

// fill reads until to is full or the stream ends, with io.EOF at its proper end only.
func (t *text) fill(to []byte) (n int, err error) {
	for n < len(to) && err == nil {
		var got int
		got, err = t.in.Read(to[n:])
		n += got
	}
	return n, err
}

// first is the error of the first bad line of all pieces.
func (t *text) first(pieces []*piece) error {
	line, edges, weighed, known := t.line, uint64(0), false, false
	for _, p := range pieces {
		if p.known {
			if known && p.weighed != weighed {
				return &LineError{line + p.first, errWeightColumn}
			}
			known, weighed = true, p.weighed
		}
		if p.err != nil {
			return &LineError{line + p.fault, p.err}
		}
		line += p.lines
		edges += uint64(len(p.ends) / 2)
		if edges > t.limit {
			return &LineError{line, fmt.Errorf("%w: over %d edges", ErrLimit, t.limit)}
		}
	}
	return nil
}

var errWeightColumn = errors.New("a third column, the weight, has to be on every line or on none")

// weighing says which lines have weights.
type weighing uint8

const (
	weightsOptional weighing = iota // all or none
	weightsNone
	weightsRequired
)

// grammar is what a line of edges looks like.
type grammar struct {
	weights weighing
	real    bool   // weights may be written with a point or an exponent
	nodes   uint64 // nodes are called 1 to nodes; 0: any number
}

// parse reads lines; data ends with a line's end or the file's.
func (p *piece) parse(data []byte, g *grammar) {
	p.ends = make([]uint64, 0, len(data)/6)
	defer func() { // what few edges between many comments leave over is given back
		if cap(p.ends) > 2*len(p.ends) {
			p.ends = slices.Clip(slices.Clone(p.ends))
		}
	}()
	for len(data) > 0 {
		p.lines++
		rest, err := p.parseLine(data, g)
		if err != nil {
			p.err, p.fault = err, p.lines
			return
		}
		data = rest
	}
}

// parseLine reads the line that data begins with and returns what is behind it.
func (p *piece) parseLine(data []byte, g *grammar) (rest []byte, err error) {
	data = skip(data)
	if len(data) == 0 || data[0] == '\n' {
		return data[min(1, len(data)):], nil
	}
	if data[0] == '#' || data[0] == '%' {
		if end := bytes.IndexByte(data, '\n'); end >= 0 {
			return data[end+1:], nil
		}
		return nil, nil
	}
	u, data, err := p.node(data, g)
	if err != nil {
		return nil, err
	}
	if data = skip(data); len(data) == 0 || data[0] == '\n' {
		return nil, errors.New("one number; a line is an edge: two nodes and, if it has one, a weight")
	}
	v, data, err := p.node(data, g)
	if err != nil {
		return nil, err
	}
	data = skip(data)
	weighed := len(data) > 0 && data[0] != '\n'
	switch {
	case g.weights == weightsNone && weighed:
		return nil, errors.New("a third number in a file of field pattern")
	case g.weights == weightsRequired && !weighed:
		return nil, errors.New("no value; the file's field is not pattern")
	case p.known && weighed != p.weighed:
		return nil, errWeightColumn
	}
	if !p.known {
		p.known, p.weighed, p.first = true, weighed, p.lines
	}
	if weighed {
		var w uint32
		if w, data, err = weight(data, g.real); err != nil {
			return nil, err
		}
		p.weights = append(p.weights, w)
		if data = skip(data); len(data) > 0 && data[0] != '\n' {
			return nil, fmt.Errorf("%s is behind the weight; a line has at most three numbers", word(data))
		}
	}
	p.ends = append(p.ends, u, v)
	return data[min(1, len(data)):], nil
}

// node reads a node's name.
func (p *piece) node(data []byte, g *grammar) (uint64, []byte, error) {
	id, rest, err := number(data)
	if err != nil {
		return 0, nil, fmt.Errorf("node %s %w", word(data), err)
	}
	if g.nodes > 0 && (id == 0 || id > g.nodes) {
		return 0, nil, fmt.Errorf("%d is out of range: the matrix has rows and columns 1 to %d", id, g.nodes)
	}
	return id, rest, nil
}
