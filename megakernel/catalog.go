package megakernel

import (
	"errors"
	"fmt"

	"ringmaster/megakernel/userop"
	"ringmaster/ring"
)

// Errors of a catalog.
var (
	// ErrOpcode says that a set of operators' opcodes cannot be used.
	ErrOpcode = errors.New("opcode cannot be used")
	// ErrSlot says that a slot can never run as it is.
	ErrSlot = errors.New("slot is malformed")
)

// Catalog is a set of opcodes: the built-in ones and an operator's own. Together with
// memory it determines what a slot means. It does not change.
type Catalog struct {
	user []userop.Opcode // ascending by number
	byID [ring.OpcodeBins]*userop.Opcode
	all  OpcodeSet
}

var builtIn = func() *Catalog {
	c, err := NewCatalog(nil)
	if err != nil {
		panic(err)
	}
	return c
}()

// BuiltIn is the catalog of the built-in opcodes alone.
func BuiltIn() *Catalog { return builtIn }

// NewCatalog is the built-in opcodes and an operator's own, as
// [userop.LoadDir] returns them: ascending by number, without repeats.
func NewCatalog(user []userop.Opcode) (*Catalog, error) {
	c := &Catalog{user: append([]userop.Opcode(nil), user...)}
	names := make(map[string]bool)
	for _, known := range builtins {
		c.all |= 1 << known.op
		names[known.name] = true
	}
	for i := range c.user {
		u := &c.user[i]
		switch {
		case u.ID < userop.MinID || u.ID > userop.MaxID:
			return nil, fmt.Errorf("megakernel: opcode %q has number %d, want %d..%d: %w", u.Name, u.ID, userop.MinID, userop.MaxID, ErrOpcode)
		case c.all.Has(Opcode(u.ID)):
			return nil, fmt.Errorf("megakernel: opcode %q: number %d is that of %q: %w", u.Name, u.ID, c.Name(Opcode(u.ID)), ErrOpcode)
		case i > 0 && u.ID < c.user[i-1].ID:
			return nil, fmt.Errorf("megakernel: opcode %q stands behind a greater number: %w", u.Name, ErrOpcode)
		case names[u.Name]:
			return nil, fmt.Errorf("megakernel: opcode %d: the name %q is taken: %w", u.ID, u.Name, ErrOpcode)
		}
		names[u.Name] = true
		c.byID[u.ID] = u
		c.all |= 1 << u.ID
	}
	return c, nil
}

// All is the set of the catalog's opcodes.
func (c *Catalog) All() OpcodeSet { return c.all }

// Has reports whether the catalog has an opcode.
func (c *Catalog) Has(op Opcode) bool { return c.all.Has(op) }

// Name is the name of an opcode.
func (c *Catalog) Name(op Opcode) string {
	if u := c.userOpcode(op); u != nil {
		return u.Name
	}
	return op.String()
}

// Lookup is the opcode of a name.
func (c *Catalog) Lookup(name string) (op Opcode, ok bool) {
	for op := range Opcode(ring.OpcodeBins) {
		if c.Has(op) && c.Name(op) == name {
			return op, true
		}
	}
	return 0, false
}

// User are the operator's opcodes, ascending by number. The caller does not
// change them.
func (c *Catalog) User() []userop.Opcode { return c.user }

// userOpcode is the operator's opcode with a number, nil if there is none.
func (c *Catalog) userOpcode(op Opcode) *userop.Opcode {
	if op < ring.OpcodeBins {
		return c.byID[op]
	}
	return nil
}

// userIn are the operator's opcodes in a set.
func (c *Catalog) userIn(set OpcodeSet) []userop.Opcode {
	var list []userop.Opcode
	for i := range c.user {
		if set.Has(Opcode(c.user[i].ID)) {
			list = append(list, c.user[i])
		}
	}
	return list
}

// CheckSlot refuses a slot that would fault on every window, whatever its content, so
// that the submitter learns of it at once: an opcode that the catalog does not have, a
// packed slot that does not fit, an operand outside its opcode's range. These are
// exactly the slots on which the kernels fault with every window.
func (c *Catalog) CheckSlot(s *ring.Slot) error {
	code := ring.FaultNone
	op := Opcode(s.Opcode)
	if !c.Has(op) {
		code = ring.FaultUnknownOpcode
	} else if u := c.userOpcode(op); u != nil {
		if u.StepsOperand != userop.NoOperand && s.Args[u.StepsOperand] > u.MaxSteps {
			code = ring.FaultTooManySteps
		}
	} else {
		code = operandFault(op, &s.Args)
	}
	if code != ring.FaultNone {
		return fmt.Errorf("megakernel: slot of opcode %s: %s: %w", c.Name(op), code, ErrSlot)
	}
	return nil
}

// operandFault is the fault that a built-in opcode's operands deserve on any window.
func operandFault(op Opcode, a *[ring.ArgWords]uint32) ring.FaultCode {
	switch op {
	case OpCopy:
		if a[2] > CopyCap {
			return ring.FaultCopyTooLong
		}
	case OpFault:
		if a[0] >= ring.UserFaults {
			return ring.FaultBadCode
		}
	case OpPacked:
		if _, ok := packedParts(a); !ok {
			return ring.FaultBadPacked
		}
	case OpYield:
		if a[0] > MaxAttempts {
			return ring.FaultBadOperand
		}
	case OpAwait:
		if a[2] < 1 || a[2] > MaxAttempts {
			return ring.FaultBadOperand
		}
	}
	return ring.FaultNone
}

// Steps is what a slot takes of the step budget of a wave: a wave with a
// smaller one leaves it published. It is 0 for slots that fault.
func (c *Catalog) Steps(s *ring.Slot) uint32 {
	switch op := Opcode(s.Opcode); op {
	case OpStore, OpAdd, OpLoad, OpCompareSwap, OpAwait:
		return 1
	case OpCopy:
		if s.Args[2] <= CopyCap {
			return s.Args[2]
		}
	case OpPacked:
		n, _ := packedParts(&s.Args)
		for i := range n {
			if part, _ := packedPart(&s.Args, i); part != OpNop {
				return 1
			}
		}
	default:
		if u := c.userOpcode(op); u != nil {
			return u.Steps(&s.Args)
		}
	}
	return 0
}

// RowCost is the most loop iterations that one position of the schedule costs
// an invocation of a kernel, when the scheduled slots have opcodes of a set
// and take at most steps steps each. Invocations of a vector run in lockstep, so
// what lanes with different opcodes need adds up; and some drivers run loops once
// that the kernel has but no slot needs.
func (c *Catalog) RowCost(k Kernel, scheduled OpcodeSet, steps uint32) uint32 {
	compiled := k.compiled(c)
	cost := uint32(rowIterations)
	if scheduled&^c.userSet() != 0 {
		cost += steps // the loop of moves
	}
	if compiled.Has(OpPacked) && scheduled.Has(OpPacked) {
		cost += packedIterations
	}
	for i := range c.user {
		u := &c.user[i]
		if compiled.Has(Opcode(u.ID)) {
			cost += uint32(u.Loops)
		}
		if compiled.Has(Opcode(u.ID)) && scheduled.Has(Opcode(u.ID)) {
			cost += u.VectorSteps(min(steps, u.MaxSteps))
		}
	}
	return cost
}

// packedIterations is the turns of the loop over parts: each part is checked
// and then run, with one turn of the loop of moves in either.
const packedIterations = 4 * PackedMax

// userSet is the set of the operator's opcodes.
func (c *Catalog) userSet() (set OpcodeSet) { return c.all >> firstUser << firstUser }

// compiled are the opcodes a kernel has bodies of. Those of packed slots come
// with the bodies of their parts.
func (k Kernel) compiled(c *Catalog) OpcodeSet {
	set := k.Hot & c.all
	switch {
	case k.Hot == 0:
		set = c.all
	case set.Has(OpPacked):
		set |= packableSet
	}
	return set
}

// packableSet are the opcodes that parts of packed slots can have.
var packableSet = func() (set OpcodeSet) {
	for _, known := range builtins {
		if _, part := known.op.packable(); part {
			set |= 1 << known.op
		}
	}
	return set
}()
