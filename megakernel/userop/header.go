package userop

import (
	"slices"
	"strconv"
	"strings"
)

// headerMark begins every line of the header.
const headerMark = "//!"

// Bounds of what a header may declare.
const (
	maxOperands = 12        // argument words of a slot
	maxSteps    = 1 << 15   // half of what one dispatch can run on llvmpipe, see MaxSteps
	maxFile     = 64 * 1024 // bytes
)

// MaxSteps is the most steps an opcode may declare. It leaves a workgroup room
// for one row of slots within the loop iterations that some drivers end a
// dispatch after.
const MaxSteps = maxSteps

// Keys of an opcode's header.
var (
	requiredKeys = []string{"id", "name", "side-effects", "idempotent"}
	optionalKeys = []string{"operands", "max-steps", "steps", "reference"}
)

// header is the header of a file while it is read.
type header struct {
	op    Opcode
	lines map[string]int // line of each key that is there
}

// parseHeader reads the header of an opcode's file, and returns the body and its line.
func parseHeader(text string, p *problems) (h header, body string, line int) {
	values, lines, body, line := readHeader(text, requiredKeys, optionalKeys, p)
	h = header{op: Opcode{StepsOperand: NoOperand}, lines: lines}
	for key, value := range values {
		h.take(key, value, lines[key], p)
	}
	h.finish(p)
	return h, body, line
}

// readHeader reads the header lines that text begins with, blank lines and other line comments
// between them included: the value and the line of each key. It returns the rest and its line.
func readHeader(text string, required, optional []string, p *problems) (values map[string]string, lines map[string]int, body string, line int) {
	values, lines = make(map[string]string), make(map[string]int)
	for line = 1; text != ""; line++ {
		first, rest, _ := strings.Cut(text, "\n")
		trimmed := strings.TrimSpace(first)
		if trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			break
		}
		text = rest
		said, is := strings.CutPrefix(trimmed, headerMark)
		if !is {
			continue
		}
		key, value, found := strings.Cut(said, ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch keys := slices.Concat(required, optional); {
		case !found || value == "" && key != "operands":
			p.add(line, "a header line is \"%s key: value\"", headerMark)
		case !slices.Contains(keys, key):
			p.add(line, "%q is no key of the header; there are %s", key, strings.Join(keys, ", "))
		case lines[key] != 0:
			p.add(line, "%s is declared in line %d already", key, lines[key])
		default:
			values[key], lines[key] = value, line
		}
	}
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), headerMark) {
			p.add(line+i, "header lines come before the first statement")
		}
	}
	for _, key := range required {
		if lines[key] == 0 {
			p.add(1, "the header has no line \"%s %s: …\"", headerMark, key)
		}
	}
	return values, lines, text, line
}

// take takes over what a line says.
func (h *header) take(key, value string, line int, p *problems) {
	switch key {
	case "id":
		if n, err := strconv.ParseUint(value, 0, 32); err == nil && n < MinID {
			p.add(line, "id %d belongs to the built-in opcodes, want %d to %d", n, MinID, MaxID)
		} else {
			h.op.ID = number(key, value, MinID, MaxID, line, p)
		}
	case "name":
		h.op.Name = plainName(value, line, p)
	case "operands":
		h.operands(value, line, p)
	case "side-effects":
		h.op.SideEffects = yes(key, value, line, p)
	case "idempotent":
		h.op.Idempotent = yes(key, value, line, p)
	case "max-steps":
		h.op.MaxSteps = number(key, value, 1, MaxSteps, line, p)
	case "steps":
		h.op.steps = value
	case "reference":
		h.op.Reference = value
		if References[value] == nil {
			p.add(line, "there is no Go reference %q", value)
		}
	}
}

// plainName is a value that has to be a name.
func plainName(value string, line int, p *problems) string {
	if !isPlainName(value) {
		p.add(line, "name %q: names are a to z, 0 to 9 and single _, at most 32 characters, and begin with a letter", value)
	}
	return value
}

// operands reads the names of the operands.
func (h *header) operands(value string, line int, p *problems) {
	if value == "" {
		return
	}
	for name := range strings.SplitSeq(value, ",") {
		name = strings.TrimSpace(name)
		if reason := badName(name); reason != "" {
			p.add(line, "operand %q: %s", name, reason)
		} else if slices.Contains(h.op.Operands, name) {
			p.add(line, "operand %s is declared twice", name)
		}
		h.op.Operands = append(h.op.Operands, name)
	}
	if n := len(h.op.Operands); n > maxOperands {
		p.add(line, "%d operands, a slot has %d arguments", n, maxOperands)
	}
}

// finish checks what the lines say together.
func (h *header) finish(p *problems) {
	line := h.lines["steps"]
	if line == 0 {
		return
	}
	h.op.StepsOperand = slices.Index(h.op.Operands, h.op.steps)
	if h.op.StepsOperand < 0 {
		p.add(line, "steps: %q is no operand", h.op.steps)
	}
	if h.lines["max-steps"] == 0 {
		p.add(line, "steps needs a max-steps line too, the most that the operand may say")
	}
}

func number(key, value string, least, most uint64, line int, p *problems) uint32 {
	n, err := strconv.ParseUint(value, 0, 32)
	if err != nil || n > most || n < least {
		p.add(line, "%s is %q, want a number of %d to %d", key, value, least, most)
		return 0
	}
	return uint32(n)
}

func yes(key, value string, line int, p *problems) bool {
	if value != "yes" && value != "no" {
		p.add(line, "%s is %q, want yes or no", key, value)
	}
	return value == "yes"
}
