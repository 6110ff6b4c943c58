package main

import (
	"fmt"
	"strings"

	"ringmaster/megakernel"
	"ringmaster/megakernel/userop"
)

// userOpcodes is how many opcodes a drain adds to the built-in ones, to make a program of 32.
var userOpcodes = 32 - len(megakernel.BuiltIn().All().Opcodes())

// firstUserOpcode is the first of the opcodes that a drain adds.
const firstUserOpcode = megakernel.Opcode(userop.MinID)

// opcodeCatalog is the built-in opcodes and as many generated ones as make 32.
// Each of these reads words words of the window, keeps them all alive through
// rounds of mixing and adds them to its result, so that it needs about as many
// registers as words.
func opcodeCatalog(words int) (*megakernel.Catalog, error) {
	var ops []userop.Opcode
	for i := range userOpcodes {
		op, err := userop.Parse(fmt.Sprintf("bench%d.glsl", i), []byte(opcodeFile(userop.MinID+i, words)))
		if err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return megakernel.NewCatalog(ops)
}

// opcodeFile is the file of a generated opcode.
func opcodeFile(id, words int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "//! id: %d\n//! name: mix%d\n//! operands: address, seed\n//! side-effects: no\n//! idempotent: yes\n\n", id, id)
	for i := range words {
		fmt.Fprintf(&b, "uint v%d = load(address + %du) ^ seed;\n", i, i)
	}
	const rounds = 3
	for round := range rounds {
		for i := range words {
			j := (i + 1 + round*5 + id) % words
			fmt.Fprintf(&b, "v%d = v%d * %du + (v%d >> %du);\n", i, i, uint32(2654435761)+uint32(id*words+i)*2, j, 1+(id+i)%13)
		}
	}
	b.WriteString("uint sum = seed;\n")
	for i := range words {
		fmt.Fprintf(&b, "sum = sum * %du + v%d;\n", 2*id+1, i)
	}
	b.WriteString("result(sum);\n")
	return b.String()
}
