package userop

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// Ext is the extension of an opcode's file.
const Ext = ".glsl"

// ErrNone says that a directory holds no opcode.
var ErrNone = errors.New("no *" + Ext + " file")

// LoadDir reads the opcodes of a directory, one from each file whose name ends
// in .glsl, ordered by id. Other files, directories and joins in it are
// ignored. The error joins everything wrong with every file, each as "file:line: message";
// with an error there are no opcodes.
func LoadDir(dir fs.FS) ([]Opcode, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("userop: %w", err)
	}
	var ops []Opcode
	var errs []error
	for _, entry := range entries {
		if entry.IsDir() || path.Ext(entry.Name()) != Ext {
			continue
		}
		text, err := readFile(dir, entry.Name())
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if isJoin(text) {
			continue
		}
		op, err := Parse(entry.Name(), text)
		if err != nil {
			errs = append(errs, err)
		}
		ops = append(ops, op)
	}
	if len(ops) == 0 && len(errs) == 0 {
		return nil, fmt.Errorf("userop: %w", ErrNone)
	}
	if err := errors.Join(append(errs, duplicates(ops))...); err != nil {
		return nil, err
	}
	slices.SortFunc(ops, func(a, b Opcode) int { return cmp.Compare(a.ID, b.ID) })
	return ops, nil
}

// readFile reads a file up to the bound of its size.
func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, fmt.Errorf("userop: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("userop: %s: %w", name, err)
	}
	return text, nil
}

// duplicates reports ids and names that two opcodes share.
func duplicates(ops []Opcode) error {
	var errs []error
	for i := range ops {
		for j := range i {
			a, b := &ops[j], &ops[i]
			if a.ID == b.ID && a.ID != 0 {
				errs = append(errs, &Error{b.File, b.idLine, fmt.Sprintf("id %d is taken by %s:%d", b.ID, a.File, a.idLine)})
			}
			if a.Name == b.Name && a.Name != "" {
				errs = append(errs, &Error{b.File, b.nameLine, fmt.Sprintf("name %s is taken by %s:%d", b.Name, a.File, a.nameLine)})
			}
		}
	}
	return errors.Join(errs...)
}

// Parse reads one opcode from the text of its file. Also with an error the
// opcode has what could be read of the header.
func Parse(file string, text []byte) (Opcode, error) {
	p := &problems{file: file}
	if len(text) > maxFile {
		p.add(0, "the file has more than %d bytes", maxFile)
		return Opcode{File: file, StepsOperand: NoOperand}, p.err()
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	checkCharacters(text, p)
	h, body, line := parseHeader(string(text), p)
	op := &h.op
	op.File, op.BodyLine = file, line
	op.idLine, op.nameLine = h.lines["id"], h.lines["name"]
	before := len(p.list)
	tokens, clean := lex(body, line, p)
	understood := len(p.list) == before
	op.Body = strings.TrimRight(clean, " \t\n") + "\n"
	used := checkBody(tokens, op.Operands, p)
	op.Loops, op.Nested = used.loops, used.nested
	for word := range used.words {
		op.Reads = op.Reads || Accessors[word].reads()
	}
	if understood && !used.broken {
		compare(&h, &used, p)
		op.text = mark(op.Body, used.exits)
	}
	return *op, p.err()
}

// mostSteps is the most steps an opcode with these loops may declare, so that
// a vector of its slots fits a dispatch.
func mostSteps(op *Opcode) uint32 { return MaxSteps / op.VectorSteps(1) }

func loopsOf(op *Opcode) string {
	if op.Nested {
		return "loops within one another"
	}
	return fmt.Sprintf("%d loops", op.Loops)
}

// checkCharacters refuses what people and compilers may read differently:
// everything but printable ASCII, tabs and line breaks, and the backslash, with
// which compilers join lines.
func checkCharacters(text []byte, p *problems) {
	line := 1
	for _, c := range text {
		switch {
		case c == '\n':
			line++
		case c == '\\':
			p.add(line, "a backslash is refused, in comments too; compilers join lines with it")
		case c >= 0x80:
			p.add(line, "only ASCII is allowed, in comments too")
		case c < ' ' && c != '\t' || c == 0x7F:
			p.add(line, "control character 0x%02X", c)
		}
	}
}

// compare holds what the header declares against what the body does.
func compare(h *header, used *usage, p *problems) {
	op := &h.op
	writes, updates := "", ""
	writeLine, updateLine := 0, 0
	for word, line := range used.words {
		switch Accessors[word].access {
		case accessUpdate:
			if updateLine == 0 || line < updateLine || line == updateLine && word < updates {
				updates, updateLine = word, line
			}
			fallthrough
		case accessWrite:
			if writeLine == 0 || line < writeLine || line == writeLine && word < writes {
				writes, writeLine = word, line
			}
		}
	}
	declared := func(key string) bool { return h.lines[key] != 0 }
	switch {
	case declared("side-effects") && !op.SideEffects && writeLine != 0:
		p.add(h.lines["side-effects"], "the header says that it has no side effects, but line %d uses %s", writeLine, writes)
	case op.SideEffects && writeLine == 0:
		p.add(h.lines["side-effects"], "the header says that it has side effects, but nothing writes to the window")
	}
	switch {
	case op.Idempotent && updateLine != 0:
		p.add(h.lines["idempotent"], "the header says that it is idempotent, but line %d uses %s", updateLine, updates)
	case declared("idempotent") && !op.Idempotent && writeLine == 0:
		p.add(h.lines["idempotent"], "an opcode that writes nothing is idempotent")
	}
	for _, name := range op.Operands {
		if used.words[name] == 0 && name != op.steps {
			p.add(h.lines["operands"], "operand %s is not used", name)
		}
	}
	loop := used.words["FOR"]
	if line := used.words["WHILE"]; loop == 0 || line != 0 && line < loop {
		loop = line
	}
	switch {
	case used.loops > 0 && !declared("max-steps"):
		p.add(loop, "a loop needs a header line \"%s max-steps: …\", the most turns of all loops of a slot together", headerMark)
	case used.loops > 1 && op.MaxSteps > mostSteps(op):
		p.add(h.lines["max-steps"], "max-steps is %d; with %s it may be %d at most, because they take their turns one after the other",
			op.MaxSteps, loopsOf(op), mostSteps(op))
	case used.loops == 0 && declared("max-steps"):
		p.add(h.lines["max-steps"], "max-steps is declared, but there is no loop")
	}
}
