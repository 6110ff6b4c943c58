package workload

import (
	"errors"
	"slices"
	"testing"
)

// slots are the argument words of a workload's slots with their opcodes.
func slots(w *Workload) (opcodes []string, args [][MaxOperands]uint32) {
	w.Each(func(i int, p *Part, a [MaxOperands]uint32) {
		if i != len(opcodes) {
			panic("out of order")
		}
		opcodes, args = append(opcodes, p.Opcode), append(args, a)
	})
	return opcodes, args
}

func TestTheBundledWorkloadsSpanLengthsAndWeights(t *testing.T) {
	all := Bundled()
	least, most, sorted, mixed := all[0].Slots, 0, false, false
	names := make(map[string]bool)
	for i := range all {
		w := &all[i]
		if err := w.Check(); err != nil {
			t.Error(err)
		}
		if names[w.Name] || w.About == "" {
			t.Errorf("%q is not unique, or not explained", w.Name)
		}
		names[w.Name] = true
		least, most = min(least, w.Slots), max(most, w.Slots)
		sorted, mixed = sorted || w.Sorted, mixed || len(w.Parts) > 2
		if found, ok := Find(w.Name); !ok || found.Slots != w.Slots {
			t.Errorf("%s is not found by its name", w.Name)
		}
	}
	if len(all) < 12 || least != 256 || most != 1<<20 || !sorted || !mixed {
		t.Errorf("%d workloads of %d to %d slots", len(all), least, most)
	}
	if _, ok := Find("none"); ok {
		t.Error("a workload that is none was found")
	}
}

func TestSlotsAreThoseTheSharesSayAndTheSameEveryTime(t *testing.T) {
	w := Workload{Name: "w", Slots: 1000, Window: 64, Parts: []Part{
		{"a", 1, []Operand{{10, 20, 3}}}, {"b", 2, []Operand{word(7), {0, 4, 0}}}, {"c", 0, nil}, {"d", 3, nil},
	}}
	opcodes, args := slots(&w)
	again, sameArgs := slots(&w)
	if !slices.Equal(opcodes, again) || !slices.Equal(args, sameArgs) {
		t.Error("other slots at the second time")
	}
	count := make(map[string]int)
	seen := make(map[uint32]bool)
	for i, op := range opcodes {
		count[op]++
		switch {
		case op == "a" && args[i][0] != 10+uint32(i)*3%10:
			t.Fatalf("slot %d: %v", i, args[i])
		case op == "b" && (args[i][0] != 7 || args[i][1] >= 4):
			t.Fatalf("slot %d: %v", i, args[i])
		case op == "b":
			seen[args[i][1]] = true
		}
	}
	if count["a"] != 167 || count["b"] != 333 || count["c"] != 0 || count["d"] != 500 || len(seen) != 4 {
		t.Errorf("%v, random values %v", count, seen)
	}
	if slices.IsSorted(opcodes) {
		t.Error("the slots were not dealt out")
	}
	w.Sorted = true
	if opcodes, _ = slots(&w); !slices.IsSorted(opcodes) {
		t.Error("the slots do not stand together")
	}
}

func TestOperandsOfBundledWorkloadsStayInTheWindow(t *testing.T) {
	for _, w := range Bundled() {
		w.Each(func(i int, p *Part, a [MaxOperands]uint32) {
			end := uint32(0)
			switch p.Opcode {
			case "store", "add":
				end = a[1] + 1
			case "load", "compare_swap":
				end = a[0] + 1
			case "copy":
				if a[0]+a[2] > half || a[1] < half || a[2] < 1 {
					t.Fatalf("%s: slot %d copies %v", w.Name, i, a[:3])
				}
				end = a[1] + a[2]
			}
			if end > uint32(w.Window) {
				t.Fatalf("%s: slot %d of %s reaches %d", w.Name, i, p.Opcode, end)
			}
		})
	}
}

func TestImpossibleDescriptionsAreRefused(t *testing.T) {
	good := Workload{Name: "w", Slots: 1, Window: 1, Parts: []Part{{"nop", 1, nil}}}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string]func(*Workload){
		"no slots":           func(w *Workload) { w.Slots = 0 },
		"too many slots":     func(w *Workload) { w.Slots = MaxSlots + 1 },
		"no window":          func(w *Workload) { w.Window = 0 },
		"too large a window": func(w *Workload) { w.Window = MaxWindow + 1 },
		"no parts":           func(w *Workload) { w.Parts = nil },
		"no shares":          func(w *Workload) { w.Parts = []Part{{"nop", 0, nil}} },
		"a negative share":   func(w *Workload) { w.Parts = []Part{{"nop", -1, nil}, {"nop", 2, nil}} },
		"no opcode":          func(w *Workload) { w.Parts = []Part{{"", 1, nil}} },
		"too many operands":  func(w *Workload) { w.Parts = []Part{{"nop", 1, make([]Operand, MaxOperands+1)}} },
	} {
		w := good
		damage(&w)
		if err := w.Check(); !errors.Is(err, ErrImpossible) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
