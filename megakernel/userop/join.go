package userop

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// JoinKind is how a node takes over what arrives: the operations that a device
// has as atomics. Each moves a value in one direction only, so that a
// propagation ends and the order of arrivals does not matter.
type JoinKind uint8

// The kinds of a join.
const (
	JoinMin JoinKind = iota // the smaller value
	JoinMax                 // the larger value
	JoinOr                  // the bits of either
	JoinAnd                 // the bits of both

	joinKinds = iota
)

var joinNames = [joinKinds]string{"min", "max", "or", "and"}

func (k JoinKind) String() string { return joinNames[k] }

// Identity is the value that changes none it is joined with: that of a node
// that nothing arrived at.
func (k JoinKind) Identity() uint32 {
	if k == JoinMin || k == JoinAnd {
		return 1<<32 - 1
	}
	return 0
}

// Apply joins two values.
func (k JoinKind) Apply(a, b uint32) uint32 {
	switch k {
	case JoinMin:
		return min(a, b)
	case JoinMax:
		return max(a, b)
	case JoinOr:
		return a | b
	default:
		return a & b
	}
}

// Join is a propagation of an operator's own, as its file declares it: what
// travels along an edge, and how a node takes over what arrives. ParseJoin has
// checked it.
type Join struct {
	Name string
	Kind JoinKind
	Seed uint32 // value of a source that is given none

	// Body is checked GLSL statements, comments blanked. They see value, of the
	// node that the edge leaves, and weight, of the edge, and hand what arrives
	// at the other node to result; without it nothing arrives.
	Body     string
	File     string
	BodyLine int // line of the file with which Body begins, from 1
	Tokens   int // of the body: names, numbers, operators. What it costs to compile and to run grows with them
}

// joinKeys are the keys of a join's header, all of which have to be there.
var joinKeys = []string{"kind", "name", "join", "seed"}

// isJoin says whether the header of a file declares a join and not an opcode.
func isJoin(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "//") {
			return false
		}
		declared, is := strings.CutPrefix(line, headerMark)
		if key, value, _ := strings.Cut(declared, ":"); is && strings.TrimSpace(key) == "kind" {
			return strings.TrimSpace(value) == "join"
		}
	}
	return false
}

// ParseJoin reads a join from the text of its file:
//
//	//! kind: join
//	//! name: widest
//	//! join: max
//	//! seed: 0xFFFFFFFF
//	result(min(value, weight));
//
// The body is checked as an opcode's is, and has no loops and no memory.
func ParseJoin(file string, text []byte) (Join, error) {
	p := &problems{file: file}
	j := Join{File: file}
	if len(text) > maxFile {
		p.add(0, "the file has more than %d bytes", maxFile)
		return j, p.err()
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	checkCharacters(text, p)
	values, lines, body, line := readHeader(string(text), joinKeys, nil, p)
	j.BodyLine = line
	for key, value := range values {
		j.take(key, value, lines[key], p)
	}
	tokens, clean := lex(body, j.BodyLine, p)
	j.Tokens = len(tokens) - 1 // the last one is the end
	j.Body = strings.TrimRight(clean, " \t\n") + "\n"
	used := checkBody(tokens, []string{"value", "weight"}, p)
	for word, line := range used.words {
		if _, accessor := Accessors[word]; accessor && word != "result" {
			p.add(line, "%s: a join has no loops and no memory; it computes result(…) from value and weight", word)
		}
	}
	if !used.broken && used.words["result"] == 0 {
		p.add(j.BodyLine, "nothing travels: the body hands nothing to result(…)")
	}
	return j, p.err()
}

// take takes over what a line of the header says.
func (j *Join) take(key, value string, line int, p *problems) {
	switch key {
	case "kind":
		if value != "join" {
			p.add(line, "kind is %q, want join", value)
		}
	case "name":
		j.Name = plainName(value, line, p)
	case "join":
		at := slices.Index(joinNames[:], value)
		if at < 0 {
			p.add(line, "join is %q, want one of %s", value, strings.Join(joinNames[:], ", "))
		}
		j.Kind = JoinKind(max(at, 0))
	case "seed":
		j.Seed = number(key, value, 0, 1<<32-1, line, p)
	}
}

// ErrJoin says that a Join did not come from ParseJoin.
var ErrJoin = errors.New("userop: the join has no body or an unknown kind")

// Check says whether a join can be run.
func (j *Join) Check() error {
	if j.Body == "" || j.Kind >= joinKinds {
		return fmt.Errorf("%w: %q", ErrJoin, j.Name)
	}
	return nil
}

// Function defines, in GLSL, what travels along an edge:
//
//	uint rm_extend(uint value, uint weight)
//
// It belongs before anything whose names the body could meet.
func (j *Join) Function() string {
	var b strings.Builder
	fmt.Fprintf(&b, "uint rm_arriving;\nvoid rm_result(uint rm_value) { rm_arriving = rm_value; }\n#define result rm_result\n")
	fmt.Fprintf(&b, "void rm_travel(const uint value, const uint weight) {\n#line %d\n%s}\n#undef result\n", j.BodyLine, j.Body)
	fmt.Fprintf(&b, "uint rm_extend(uint value, uint weight) {\n    rm_arriving = %du;\n    rm_travel(value, weight);\n    return rm_arriving;\n}\n", j.Kind.Identity())
	return b.String()
}
