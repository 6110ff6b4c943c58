package userop

// Slot is what the Go reference of an opcode sees: the accessors, with the
// meaning they have in a body.
type Slot struct {
	Args     [12]uint32
	Sequence uint32
	Window   []uint32 // the tenant's window
	Steps    uint32   // steps left

	Violation Violation // the first violation
	Code      uint32    // the argument of the Fail that ended the slot
	Word      uint32    // the result word
}

// Violation is what ended a slot as a fault.
type Violation uint8

// Violations. Only the first of a slot counts.
const (
	ViolationNone Violation = iota
	OutsideWindow           // an address outside the window
	TooManySteps            // a turn beyond the steps
	Failed                  // Fail, with its code
)

// Ended reports whether the slot ended as a fault: nothing is written any
// more, loads read 0 and loops end.
func (s *Slot) Ended() bool { return s.Violation != ViolationNone }

func (s *Slot) violate(v Violation) {
	if s.Violation == ViolationNone {
		s.Violation = v
	}
}

// word is where an address points to, nil if the slot has ended or ends with it.
func (s *Slot) word(address uint32) *uint32 {
	if uint64(address) >= uint64(len(s.Window)) {
		s.violate(OutsideWindow)
	}
	if s.Ended() {
		return nil
	}
	return &s.Window[address]
}

// Load is the accessor load.
func (s *Slot) Load(address uint32) uint32 {
	if w := s.word(address); w != nil {
		return *w
	}
	return 0
}

// Store is the accessor store.
func (s *Slot) Store(address, value uint32) { s.Update(address, func(uint32) uint32 { return value }) }

// AtomicAdd is the accessor atomic_add.
func (s *Slot) AtomicAdd(address, value uint32) uint32 {
	return s.Update(address, func(old uint32) uint32 { return old + value })
}

// Update is every other atomic accessor: it replaces a word by what change
// makes of it and returns what it was.
func (s *Slot) Update(address uint32, change func(old uint32) uint32) uint32 {
	w := s.word(address)
	if w == nil {
		return 0
	}
	old := *w
	*w = change(old)
	return old
}

// Step is a turn of a loop: it reports whether the turn may run.
func (s *Slot) Step() bool {
	if s.Steps == 0 {
		s.violate(TooManySteps)
	}
	if s.Ended() {
		return false
	}
	s.Steps--
	return true
}

// Result is the accessor result.
func (s *Slot) Result(value uint32) { s.Word = value }

// Fail is the accessor fail.
func (s *Slot) Fail(code uint32) {
	if !s.Ended() {
		s.Violation, s.Code = Failed, code
	}
}

// Run runs the opcode's Go reference on a slot whose Args, Sequence and Window
// are set. It reports false if there is none.
func (o *Opcode) Run(s *Slot) bool {
	reference := References[o.Reference]
	if reference == nil {
		return false
	}
	s.Steps = o.MaxSteps
	if i := o.StepsOperand; i != NoOperand {
		s.Steps = s.Args[i]
		if s.Steps > o.MaxSteps {
			s.violate(TooManySteps)
			return true
		}
	}
	reference(s)
	return true
}

// References are the Go references of opcodes that come with the project, by
// the name a header gives. A reference is sequential code with the shape of its
// body, against which the body is tested.
var References = map[string]func(*Slot){
	"histogram": histogram,
	"dfa":       dfa,
	"saxpy":     saxpy,
}
