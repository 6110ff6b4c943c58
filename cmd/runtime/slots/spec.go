package slots

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ringmaster/cmd/runtime/text"
	"ringmaster/megakernel"
	"ringmaster/megakernel/kernel"
	"ringmaster/ring"
)

// maxSlots bounds what one --slots flag can ask for.
const maxSlots = 1 << 22

// lengthWord in place of a value is the length of the slot's piece.
const lengthWord = "len"

// pieces is a range cut into pieces: slot i begins at first + i*piece.
type pieces struct{ first, end, piece uint32 }

func (p *pieces) count() int {
	return int((uint64(p.end-p.first) + uint64(p.piece) - 1) / uint64(p.piece))
}

func (p *pieces) start(i int) uint32  { return p.first + uint32(i)*p.piece }
func (p *pieces) length(i int) uint32 { return min(p.piece, p.end-p.start(i)) }

// Group is the slots of one SPEC, and what became of them.
type Group struct {
	Opcode  string
	Slots   []ring.Slot
	Results []uint32
	Faults  []megakernel.SlotFault
}

// Parse reads SPECs and checks the slots that they make.
func Parse(specs []string, priority uint32, set *Opcodes) ([]Group, error) {
	var groups []Group
	for _, spec := range specs {
		g, err := parseSlots(spec, set)
		for i := 0; err == nil && i < len(g.Slots); i++ {
			g.Slots[i].Priority = priority
			if err = set.Catalog.CheckSlot(&g.Slots[i]); err != nil {
				err = fmt.Errorf("slot %d: %w", i, err)
			}
		}
		if err != nil {
			return nil, fmt.Errorf("slots %q: %w", spec, err)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

// parseSlots reads 'OPCODE operand=VALUE … [xN]'.
func parseSlots(spec string, set *Opcodes) (Group, error) {
	words := strings.Fields(spec)
	if len(words) == 0 {
		return Group{}, fmt.Errorf("want an opcode and its operands")
	}
	op, err := set.Lookup(words[0])
	if err != nil {
		return Group{}, err
	}
	slot := ring.Slot{Opcode: uint32(op)}
	ranges := make(map[int]pieces)
	var lengths []int // operands that are the piece's length
	operands := set.Catalog.Operands(op)
	given := make([]bool, ring.ArgWords)
	count := 0
	for _, word := range words[1:] {
		name, value, assigned := strings.Cut(word, "=")
		if n, ok := strings.CutPrefix(word, "x"); ok && !assigned {
			c, err := strconv.ParseUint(n, 10, 32)
			if err != nil || c < 1 || c > maxSlots {
				return Group{}, fmt.Errorf("%q: want x and a number of slots up to %d", word, maxSlots)
			}
			count = int(c)
			continue
		}
		i := set.Operand(op, name)
		switch {
		case !assigned:
			return Group{}, fmt.Errorf("%q: want operand=VALUE or xN", word)
		case i < 0:
			return Group{}, fmt.Errorf("%s has no operand %s; it has %s", words[0], name, text.OrDash(strings.Join(operands, ", ")))
		case given[i]:
			return Group{}, fmt.Errorf("operand %s is given twice", name)
		}
		given[i] = true
		if value == lengthWord {
			lengths = append(lengths, i)
		} else if strings.Contains(value, "..") {
			ranges[i], err = parsePieces(value)
		} else {
			slot.Args[i], err = parseWord(value)
		}
		if err != nil {
			return Group{}, fmt.Errorf("operand %s: %w", name, err)
		}
	}
	if missing := slices.Index(given[:len(operands)], false); missing >= 0 && op >= kernel.FirstUser {
		return Group{}, fmt.Errorf("operand %s is not given", operands[missing])
	}
	return makeSlots(words[0], slot, ranges, lengths, count)
}

// makeSlots makes a slot for each piece, or count equal ones.
func makeSlots(opcode string, slot ring.Slot, ranges map[int]pieces, lengths []int, count int) (Group, error) {
	var lead *pieces
	for _, p := range ranges {
		if lead != nil && lead.count() != p.count() {
			return Group{}, fmt.Errorf("the ranges have %d and %d pieces", min(lead.count(), p.count()), max(lead.count(), p.count()))
		}
		lead = &p
	}
	switch {
	case lead == nil && len(lengths) > 0:
		return Group{}, fmt.Errorf("len needs an operand with a range")
	case lead != nil && count > 0:
		return Group{}, fmt.Errorf("the range says how many slots there are; leave out x%d", count)
	case lead != nil:
		count = lead.count()
	default:
		count = max(count, 1)
	}
	if count > maxSlots {
		return Group{}, fmt.Errorf("%d slots, at most %d", count, maxSlots)
	}
	g := Group{Opcode: opcode, Slots: slices.Repeat([]ring.Slot{slot}, count)}
	for i := range g.Slots {
		for operand, p := range ranges {
			g.Slots[i].Args[operand] = p.start(i)
			for _, l := range lengths {
				g.Slots[i].Args[l] = max(g.Slots[i].Args[l], p.length(i))
			}
		}
	}
	return g, nil
}

// parsePieces reads FIRST..END/PIECE; END itself is not in the range.
func parsePieces(s string) (pieces, error) {
	bounds, piece, cut := strings.Cut(s, "/")
	first, end, _ := strings.Cut(bounds, "..")
	var p pieces
	for _, part := range []struct {
		text string
		to   *uint32
	}{{first, &p.first}, {end, &p.end}, {piece, &p.piece}} {
		n, err := strconv.ParseUint(part.text, 0, 32)
		if err != nil || !cut {
			return p, fmt.Errorf("%q: want FIRST..END/PIECE, as in 0..65536/1024", s)
		}
		*part.to = uint32(n)
	}
	if p.end <= p.first || p.piece == 0 {
		return p, fmt.Errorf("%q: the end has to be beyond the first and a piece at least 1", s)
	}
	return p, nil
}

// parseWord reads a number as the word a slot carries.
func parseWord(s string) (uint32, error) {
	if n, err := strconv.ParseInt(s, 0, 64); err == nil && n >= math.MinInt32 && n <= math.MaxUint32 {
		return uint32(n), nil // 0x1f is one
	}
	if digits, is := strings.CutSuffix(s, "f"); is {
		if f, err := strconv.ParseFloat(digits, 32); err == nil {
			return math.Float32bits(float32(f)), nil
		}
	}
	return 0, fmt.Errorf("%q is no 32-bit number; write 12, 0x1F, -3 or 1.5f", s)
}

// Priorities are the names of slot priorities, by their number.
var Priorities = []string{"critical", "high", "normal", "low", "idle"}
