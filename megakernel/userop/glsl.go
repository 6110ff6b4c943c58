package userop

import (
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

//go:embed state.glsl
var stateGLSL string

//go:embed accessors.glsl
var accessorsGLSL string

// Function is the name of an opcode's function in a kernel:
//
//	void rm_op_16(uvec4 a0, uvec4 a1, uvec4 a2)
//
// takes the slot's argument words. A kernel calls rm_begin(base, length,
// sequence) before it and finds the outcome in rm_fault and rm_word after it.
// rm_fault is NOT_REACHED, and nothing was done, if the slot may take more
// steps than step_budget.
func (o *Opcode) Function() string { return fmt.Sprintf("rm_op_%d", o.ID) }

// Prelude declares what a kernel needs to call the opcodes. It belongs after
// the constants of faults and before the first call.
func Prelude(ops []Opcode) string {
	if len(ops) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(stateGLSL)
	for i := range ops {
		fmt.Fprintf(&b, "void %s(uvec4 rm_a0, uvec4 rm_a1, uvec4 rm_a2);\n", ops[i].Function())
	}
	return b.String()
}

// Bodies defines the accessors and the opcodes' functions. It belongs at the
// very end of a kernel, because the numbers of its lines say in which file they
// are: id * lineBase + the line of the file. Mesa ignores the number of a
// source string, which would be the proper place for the file.
func Bodies(ops []Opcode) string {
	if len(ops) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(accessorsGLSL)
	for _, name := range slices.Sorted(maps.Keys(Accessors)) {
		if name != "FOR" && name != "WHILE" {
			fmt.Fprintf(&b, "#define %s %s%s\n", name, reservedPrefix, name)
		}
	}
	for i := range ops {
		ops[i].define(&b)
	}
	return b.String()
}

// define prints the opcode's function.
func (o *Opcode) define(b *strings.Builder) {
	if o.MaxSteps > 0 {
		o.defineSteps(b)
	}
	fmt.Fprintf(b, "\nvoid %s(uvec4 rm_a0, uvec4 rm_a1, uvec4 rm_a2) {\n", o.bodyFunction())
	for i, name := range o.Operands {
		fmt.Fprintf(b, "    const uint %s = %s;\n", name, argument(i))
	}
	text := o.text
	if text == "" {
		text = o.Body
	}
	fmt.Fprintf(b, "#line %d\n%s}\n", int(o.ID)*lineBase+o.BodyLine, text)
}

// bodyFunction is the name of the function that has the body: that of the
// opcode itself unless it needs something before and after.
func (o *Opcode) bodyFunction() string {
	if o.MaxSteps == 0 {
		return o.Function()
	}
	return fmt.Sprintf("rm_body_%d", o.ID)
}

// defineSteps prints the function that gives a slot its steps or turns it
// away, runs the body, and ends in a fault if a loop did not come to its end.
func (o *Opcode) defineSteps(b *strings.Builder) {
	const arguments = "(uvec4 rm_a0, uvec4 rm_a1, uvec4 rm_a2)"
	fmt.Fprintf(b, "\nvoid %s%s;\n\nvoid %s%s {\n", o.bodyFunction(), arguments, o.Function(), arguments)
	if i := o.StepsOperand; i == NoOperand {
		fmt.Fprintf(b, "    rm_steps = %du;\n", o.MaxSteps)
	} else {
		fmt.Fprintf(b, "    rm_steps = %s;\n", argument(i))
		fmt.Fprintf(b, "    if (rm_steps > %du) {\n        rm_fault = FAULT_TOO_MANY_STEPS;\n        return;\n    }\n", o.MaxSteps)
	}
	b.WriteString("    if (rm_steps > step_budget) {\n        rm_fault = NOT_REACHED;\n        return;\n    }\n")
	fmt.Fprintf(b, "    %s(rm_a0, rm_a1, rm_a2);\n    rm_close();\n}\n", o.bodyFunction())
}

// argument is the expression for an operand.
func argument(i int) string { return fmt.Sprintf("rm_a%d.%c", i/4, "xyzw"[i%4]) }

// lineBase is more than the lines of a file or of a kernel.
const lineBase = 1_000_000

// The forms in which drivers name a line of source string 0 (Mesa with a
// column, AMD without, NVIDIA), for lines of eight digits only.
var logPlace = regexp.MustCompile(`\b0(?::(\d{8})\b(?:\((\d+)\))?|\((\d{8})\))`)

// Locate rewrites the places in a driver's log that lie in bodies: "0:16000012(5)"
// becomes "histogram.glsl:12:5".
func Locate(log string, ops []Opcode) string {
	return logPlace.ReplaceAllStringFunc(log, func(place string) string {
		m := logPlace.FindStringSubmatch(place)
		line, err := strconv.Atoi(m[1] + m[3])
		i := slices.IndexFunc(ops, func(o Opcode) bool { return int(o.ID) == line/lineBase })
		if err != nil || i < 0 {
			return place
		}
		located := fmt.Sprintf("%s:%d", ops[i].File, line%lineBase)
		if m[2] != "" {
			located += ":" + m[2]
		}
		return located
	})
}
