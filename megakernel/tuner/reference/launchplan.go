package reference

import (
	"errors"
	"fmt"
	"math"
)

// Errors of a launch plan.
var (
	// ErrZeroAxis says that an axis of a workgroup or a grid is zero.
	ErrZeroAxis = errors.New("an axis is zero")
	// ErrThreadsOverflow says that a workgroup's invocations exceed 32 bits.
	ErrThreadsOverflow = errors.New("invocations of a workgroup exceed 32 bits")
	// ErrThreads says that a workgroup has more invocations than the device allows.
	ErrThreads = errors.New("more invocations than the device allows")
	// ErrBlockAxis says that a workgroup is longer along an axis than the device allows.
	ErrBlockAxis = errors.New("workgroup axis beyond the device's limit")
	// ErrGridAxis says that a grid is longer along an axis than the device allows.
	ErrGridAxis = errors.New("grid axis beyond the device's limit")
	// ErrGridRequired says that only a one-dimensional grid can be inferred.
	ErrGridRequired = errors.New("a workgroup of more than one dimension needs a grid of its own")
	// ErrElements says that a grid covers more elements than 32 bits count.
	ErrElements = errors.New("the grid covers more elements than 32 bits count")
)

// Role is what a launch does with a binding.
type Role uint8

// Roles.
const (
	RoleInput Role = iota
	RoleOutput
	RoleInputOutput
	RoleUniform
	RolePersistent
	RoleShared // memory of the workgroup; has no elements of its own
)

// Binding is a buffer of a launch.
type Binding struct {
	Number    uint32
	Role      Role
	Elements  uint32 // 0: known at run time only
	Alignment uint32 // bytes
}

// Program is what a plan needs to know about a program.
type Program struct {
	Declared       Workgroup
	Bindings       []Binding
	HasAtomic      bool // atomics anywhere
	HasShared      bool // a workgroup-shared buffer
	NonComposable  bool // marked as not to be split
	ReadsGroupIDs  bool // reads a local or workgroup id, so that its width is part of its meaning
	OnlyReturns    bool // does nothing
	Limits         Limits
	Mode           Mode
	Workgroup      *Workgroup    // the caller's size, if it insists
	Grid           *[3]uint32    // the caller's grid, if it insists
	Measured       []Measurement // of this process, see Feedback
	PersistedWidth uint32        // a selection kept from an earlier process, 0 for none
}

// Plan is a launch ready to be made.
type Plan struct {
	Elements     uint32
	Workgroup    Workgroup
	Grid         [3]uint32
	Words        []uint32 // parameters: elements, then those of each binding by its number
	MaxAlignment uint32   // bytes, 1 without bindings
}

// Prepare resolves and validates a launch.
func Prepare(p *Program) (Plan, error) {
	plan := Plan{Workgroup: Resolve(p), MaxAlignment: 1}
	if err := Validate(plan.Workgroup, [3]uint32{1, 1, 1}, p.Limits); err != nil {
		return Plan{}, err
	}
	var err error
	if p.Grid != nil {
		plan.Grid = *p.Grid
		elements := uint64(p.Grid[0]) * uint64(plan.Workgroup[0])
		if elements == 0 {
			return Plan{}, fmt.Errorf("grid %v: %w", plan.Grid, ErrZeroAxis)
		}
		if elements > math.MaxUint32 {
			return Plan{}, fmt.Errorf("grid of %d x %d: %w", p.Grid[0], plan.Workgroup[0], ErrElements)
		}
		plan.Elements = uint32(elements)
	} else {
		plan.Elements = Elements(p.Bindings, p.HasAtomic)
		if plan.Workgroup[1] != 1 || plan.Workgroup[2] != 1 {
			return Plan{}, fmt.Errorf("workgroup %v: %w", plan.Workgroup, ErrGridRequired)
		}
		if plan.Grid, err = InferGrid(plan.Elements, plan.Workgroup); err != nil {
			return Plan{}, err
		}
	}
	if err := Validate(plan.Workgroup, plan.Grid, p.Limits); err != nil {
		return Plan{}, err
	}
	plan.Words = Words(p.Bindings, plan.Elements)
	for _, b := range p.Bindings {
		plan.MaxAlignment = max(plan.MaxAlignment, b.Alignment)
	}
	return plan, nil
}

// Resolve is the workgroup of a launch, the first of these that applies: the
// caller's; the declared one outside the natural mode, with a grid of the caller's,
// or where the width is part of the program's meaning; the choice by what this
// process measured; a selection kept from an earlier process; the choice by
// estimates; the declared one.
func Resolve(p *Program) Workgroup {
	switch {
	case p.Workgroup != nil:
		return *p.Workgroup
	case p.Mode != Natural || p.Grid != nil || !Tunable(p):
		return p.Declared
	}
	chosen, found := ColdStart(p.Limits, p.Declared, Elements(p.Bindings, p.HasAtomic), p.Measured)
	switch {
	case found && len(p.Measured) > 0:
		return chosen
	case p.Limits.fits(p.PersistedWidth):
		return Workgroup{p.PersistedWidth, 1, 1}
	case found:
		return chosen
	}
	return p.Declared
}

// Tunable reports whether a program computes the same at every width.
func Tunable(p *Program) bool {
	return p.Declared[0] != 0 && p.Declared[1] == 1 && p.Declared[2] == 1 &&
		!p.OnlyReturns && !p.NonComposable && !p.ReadsGroupIDs && !p.HasShared
}

// Elements is the number of elements that a launch covers, at least one: with a
// shared binding or atomics those of the largest binding, otherwise those of the
// largest output, if there is one.
func Elements(bindings []Binding, hasAtomic bool) uint32 {
	var all, outputs uint32
	shared := hasAtomic
	for _, b := range bindings {
		if b.Role == RoleShared {
			shared = true
			continue
		}
		all = max(all, b.Elements)
		if b.Role == RoleOutput || b.Role == RoleInputOutput {
			outputs = max(outputs, b.Elements)
		}
	}
	if !shared && outputs > 0 {
		return outputs
	}
	return max(all, 1)
}

// Words are a launch's parameters: the element count at index 0, and at index n+1 the
// elements of binding n, if it is not shared.
func Words(bindings []Binding, elements uint32) []uint32 {
	n := len(bindings) + 1
	for _, b := range bindings {
		if b.Role != RoleShared {
			n = max(n, int(b.Number)+2)
		}
	}
	words := make([]uint32, n)
	words[0] = elements
	for _, b := range bindings {
		if b.Role == RoleShared {
			continue
		}
		words[b.Number+1] = b.Elements
		if b.Elements == 0 {
			words[b.Number+1] = elements
		}
	}
	return words
}
