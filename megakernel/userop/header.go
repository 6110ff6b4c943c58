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

// keys of the header in the order they are documented.
var keys = []string{"id", "name", "operands", "side-effects", "idempotent", "max-steps", "steps", "reference"}

// header is the header of a file while it is read.
type header struct {
	op    Opcode
	lines map[string]int // line of each key that is there
}

// parseHeader reads the header lines text begins with, blank lines and other
// line comments between them included. It returns the rest and its line.
func parseHeader(text string, p *problems) (h header, body string, line int) {
	h = header{op: Opcode{StepsOperand: NoOperand}, lines: make(map[string]int)}
	line = 1
	for text != "" {
		first, rest, _ := strings.Cut(text, "\n")
		trimmed := strings.TrimSpace(first)
		if trimmed != "" && !strings.HasPrefix(trimmed, "//") {
			break
		}
		if declared, is := strings.CutPrefix(trimmed, headerMark); is {
			h.line(declared, line, p)
		}
		text = rest
		line++
	}
	for i, l := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(l), headerMark) {
			p.add(line+i, "header lines come before the first statement")
		}
	}
	for _, key := range []string{"id", "name", "side-effects", "idempotent"} {
		if h.lines[key] == 0 {
			p.add(1, "the header has no line \"%s %s: …\"", headerMark, key)
		}
	}
	h.finish(p)
	return h, text, line
}

// line reads one header line, without its mark.
func (h *header) line(text string, line int, p *problems) {
	key, value, found := strings.Cut(text, ":")
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch {
	case !found || value == "" && key != "operands":
		p.add(line, "a header line is \"%s key: value\"", headerMark)
		return
	case !slices.Contains(keys, key):
		p.add(line, "%q is no key of the header; there are %s", key, strings.Join(keys, ", "))
		return
	case h.lines[key] != 0:
		p.add(line, "%s is declared in line %d already", key, h.lines[key])
		return
	}
	h.lines[key] = line
	switch key {
	case "id":
		if n, err := strconv.ParseUint(value, 0, 32); err == nil && n < MinID {
			p.add(line, "id %d belongs to the built-in opcodes, want %d to %d", n, MinID, MaxID)
		} else {
			h.op.ID = number(key, value, MinID, MaxID, line, p)
		}
	case "name":
		h.op.Name = value
		if !isPlainName(value) {
			p.add(line, "name %q: names are a to z, 0 to 9 and single _, at most 32 characters, and begin with a letter", value)
		}
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
