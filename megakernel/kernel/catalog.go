package kernel

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
	for i := range rows {
		c.all |= 1 << rows[i].op
		names[rows[i].name] = true
	}
	for i := range c.user {
		u := &c.user[i]
		switch {
		case u.ID < userop.MinID || u.ID > userop.MaxID:
			return nil, fmt.Errorf("opcode %q has number %d, want %d..%d: %w", u.Name, u.ID, userop.MinID, userop.MaxID, ErrOpcode)
		case c.all.Has(Opcode(u.ID)):
			return nil, fmt.Errorf("opcode %q: number %d is that of %q: %w", u.Name, u.ID, c.Name(Opcode(u.ID)), ErrOpcode)
		case i > 0 && u.ID < c.user[i-1].ID:
			return nil, fmt.Errorf("opcode %q stands behind a greater number: %w", u.Name, ErrOpcode)
		case names[u.Name]:
			return nil, fmt.Errorf("opcode %d: the name %q is taken: %w", u.ID, u.Name, ErrOpcode)
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
	} else if r := op.row(); r.fault != nil {
		code = r.fault(&s.Args)
	}
	if code != ring.FaultNone {
		return fmt.Errorf("slot of opcode %s: %s: %w", c.Name(op), code, ErrSlot)
	}
	return nil
}

// Steps is what a slot takes of the step budget of a wave: a wave with a
// smaller one leaves it published. It is 0 for slots that fault.
func (c *Catalog) Steps(s *ring.Slot) uint32 {
	op := Opcode(s.Opcode)
	r := op.row()
	switch {
	case op == OpPacked:
		return packedSteps(&s.Args)
	case r == nil:
		if u := c.userOpcode(op); u != nil {
			return u.Steps(&s.Args)
		}
		return 0
	case r.varies && r.fault(&s.Args) != ring.FaultNone:
		return 0
	}
	return r.steps(&s.Args)
}

// SelfContained tells whether running slots again, on a heap of zeros, does what it
// would have done: whether none of them reads the heap. Then they can run again as a
// whole after the device's memory was lost; otherwise what they read, or would have
// read, is gone with the memory.
//
// The rule goes by opcodes only. Slots that read only words which they wrote themselves
// before a fence would be self-contained too, but count as dependent: their submitter can
// handle a failure, but not a result computed from other contents. A packed slot counts
// as a reader, whatever its parts, and so does an operator's opcode whose body uses an
// accessor that returns a word of the window.
func (c *Catalog) SelfContained(slots []ring.Slot) bool {
	for i := range slots {
		op := Opcode(slots[i].Opcode)
		if forgets.Has(op) {
			continue
		}
		if u := c.userOpcode(op); u == nil || u.Reads {
			return false
		}
	}
	return true
}

// Operands are the names of an opcode's operands, in the order of the slot's
// arguments.
func (c *Catalog) Operands(op Opcode) []string {
	if u := c.userOpcode(op); u != nil {
		return u.Operands
	}
	if r := op.row(); r != nil {
		return r.operands
	}
	return nil
}

// Compiled are the opcodes a kernel has bodies of. Those of packed slots come
// with the bodies of their parts.
func (c *Catalog) Compiled(k Kernel) OpcodeSet {
	set := k.Hot & c.all
	switch {
	case k.Hot == 0:
		set = c.all
	case set.Has(OpPacked):
		set |= packable
	}
	return set
}
