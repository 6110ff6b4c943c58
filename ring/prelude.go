package ring

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Prelude is the layout as GLSL: the constants, the slot structure and the
// storage blocks, printed from the constants and structs of this package.
// It belongs after the #version line.
func Prelude() string {
	var b strings.Builder
	constant := func(name string, value uint32) {
		fmt.Fprintf(&b, "const uint %s = %du;\n", name, value)
	}
	constant("ARG_WORDS", ArgWords)
	constant("PAGE_SHIFT", PageShift)
	constant("PAGE_SLOTS", PageSlots)
	constant("PAGE_MASK", PageSlots-1)
	constant("PRIORITIES", Priorities)
	constant("OPCODE_BINS", OpcodeBins)
	constant("ENTRY_COUNT_BITS", EntryCountBits)
	constant("ENTRY_COUNT_MASK", EntryCountMask)
	constant("PRINT_RECORD_WORDS", PrintRecordWords)
	constant("PRINT_ARGS", PrintArgs)
	b.WriteByte('\n')
	for s := range states {
		constant("STATE_"+constantName(s.String()), uint32(s))
	}
	constant("STATUS_STATE_MASK", StatusStateMask)
	constant("STATUS_FAULT_SHIFT", StatusFaultShift)
	constant("STATUS_FAULT_MASK", StatusFaultMask)
	constant("STATUS_ATTEMPT_SHIFT", StatusAttemptShift)
	constant("STATUS_ATTEMPT_MASK", StatusAttemptMask)
	b.WriteByte('\n')
	for f := range faults {
		constant("FAULT_"+constantName(f.String()), uint32(f))
	}
	constant("FAULT_USER", uint32(FaultUser))
	constant("USER_FAULTS", UserFaults)
	b.WriteString("\nstruct Slot {\n")
	b.WriteString("    uvec4 head; // opcode, tenant, priority, sequence\n")
	fmt.Fprintf(&b, "    uvec4 args[%d];\n};\n\n", ArgWords/4)

	fmt.Fprintf(&b, "layout(std430, binding = %d) buffer ControlBlock {\n", BindControl)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[Control]()) {
		switch {
		case field.Name == "_":
		case field.Type.Kind() == reflect.Array:
			fmt.Fprintf(&b, "    uint %s[%d];\n", variableName(field.Name), field.Type.Len())
		default:
			fmt.Fprintf(&b, "    uint %s;\n", variableName(field.Name))
		}
	}
	b.WriteString("} control;\n")
	block := func(binding int, access, name, element, array string) {
		fmt.Fprintf(&b, "layout(std430, binding = %d) %sbuffer %s {\n    %s %s[];\n};\n", binding, access, name, element, array)
	}
	block(BindSlots, "readonly restrict ", "SlotBlock", "Slot", "slots")
	block(BindStatus, "restrict ", "StatusBlock", "uint", "statuses")
	block(BindResults, "writeonly restrict ", "ResultBlock", "uint", "results")
	block(BindSchedule, "readonly restrict ", "ScheduleBlock", "uint", "schedule")
	block(BindHeap, "restrict ", "HeapBlock", "uint", "heap")
	block(BindCold, "writeonly restrict ", "ColdBlock", "uint", "cold")
	fmt.Fprintf(&b, "layout(std430, binding = %d) restrict buffer PrintBlock {\n    uint print_cursor;\n    uint print_header[%d];\n    uint print_records[];\n};\n", BindPrint, PrintHeaderWords-1)
	return b.String()
}

// constantName turns "unknown opcode" into "UNKNOWN_OPCODE".
func constantName(s string) string {
	return strings.ReplaceAll(strings.ToUpper(s), " ", "_")
}

// variableName turns "LocalSize" into "local_size".
func variableName(s string) string {
	var b strings.Builder
	for i, r := range s {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}
