package space

import (
	"errors"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func product(t *testing.T, valid func([]uint16) bool, params ...Param) *Space {
	t.Helper()
	s, err := Product(params, valid)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestProductKeepsWhatIsValid(t *testing.T) {
	s := product(t, func(l []uint16) bool { return l[0] >= l[1] }, Ints("a", 1, 2, 4), Ints("b", 1, 2, 4))
	if s.Len() != 6 {
		t.Errorf("%d configurations, want 6", s.Len())
	}
	if _, ok := s.Find([]uint16{0, 1}); ok {
		t.Error("an invalid configuration was found")
	}
	if _, ok := s.Find([]uint16{9, 0}); ok {
		t.Error("a level that does not exist was found")
	}
}

func TestProductRefusesWhatCannotBe(t *testing.T) {
	wide := make([]int, 2_000)
	for i := range wide {
		wide[i] = i
	}
	for name, params := range map[string][]Param{
		"nothing":   nil,
		"no values": {{Name: "a"}},
		"too large": {Ints("a", wide...), Ints("b", wide...)},
	} {
		if _, err := Product(params, nil); !errors.Is(err, ErrSpace) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Product([]Param{Ints("a", 1)}, func([]uint16) bool { return false }); !errors.Is(err, ErrSpace) {
		t.Errorf("none valid: %v", err)
	}
}

func TestNeighboursDifferInOneParameter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.Uint64().Draw(t, "mask") | 1
		s, err := Product([]Param{Ints("a", 1, 2, 3), Ints("b", 1, 2, 3, 4), Ints("c", 0, 1)}, func(l []uint16) bool {
			return mask>>(l[0]*8+l[1]*2+l[2])&1 == 1
		})
		if err != nil {
			t.Fatal(err)
		}
		at := rapid.IntRange(0, s.Len()-1).Draw(t, "at")
		var want []int
		for c := range s.Len() {
			differ := 0
			for j, l := range s.Levels(c) {
				if l != s.Levels(at)[j] {
					differ++
				}
			}
			if differ == 1 {
				want = append(want, c)
			}
		}
		got := s.AppendNeighbours(nil, at)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("neighbours of %d: got %v, want %v", at, got, want)
		}
	})
}

func TestASpaceOfMoreCombinationsThanItsKeysIsRefused(t *testing.T) {
	two := []Param{Ints("a", 1, 2), Ints("b", 1, 2)}
	if s, err := New(two, []uint16{0, 0, 1, 0}); err != nil || s.Len() != 2 {
		t.Errorf("two of four: %v", err)
	}
	var same *DuplicateError
	if _, err := New(two, []uint16{0, 1, 1, 0, 0, 1}); !errors.As(err, &same) || *same != (DuplicateError{0, 2}) || !errors.Is(err, ErrSpace) {
		t.Errorf("one twice: %v", err)
	}
	many := slices.Repeat([]Param{Ints("a", 1, 2)}, MaxParams)
	if _, err := New(many, make([]uint16, MaxParams)); !errors.Is(err, ErrSpace) {
		t.Errorf("%d parameters of two values: %v", MaxParams, err)
	}
}

func TestCoordinatesRiseFromZeroToOne(t *testing.T) {
	for _, p := range []Param{Ints("powers", 1, 2, 4, 8, 16), Ints("with zero", 0, 1, 2, 100), Ints("negative", -5, 0, 5), Ints("two", 0, 1)} {
		if !slices.IsSorted(p.Coords) || p.Coords[0] != 0 || p.Coords[len(p.Coords)-1] != 1 {
			t.Errorf("%s: %v", p.Name, p.Coords)
		}
	}
	if one := Ints("one", 7); !slices.Equal(one.Coords, []float64{0}) {
		t.Errorf("a single value is at %v", one.Coords)
	}
	if p := Ints("powers", 1, 2, 4, 8, 16); p.Coords[2] < .49 || p.Coords[2] > .51 {
		t.Errorf("powers of two are not evenly spaced: %v", p.Coords)
	}
}
