package recorded

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"ringmaster/megakernel/tuner/space"
)

const small = `# conv_kernel on NVIDIA RTX 1; times in ms
bx,pad,mode,mean_ms,min_ms,median_ms,max_ms
16,0,fast,2.5,2,2.5,3
2,0,fast,1.5,1,1.5,2
16,1,slow,,,,
2.0,1,slow,4,4,4,4
`

func mustRead(t *testing.T, text, name string) *Recording {
	t.Helper()
	r, err := Read(strings.NewReader(text), name)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func checkSmall(t *testing.T, r *Recording) {
	t.Helper()
	if r.Kernel != "conv_kernel" || r.Device != "NVIDIA RTX 1" {
		t.Errorf("kernel %q on %q", r.Kernel, r.Device)
	}
	if want := []float64{2.5, 1.5, math.Inf(1), 4}; !slices.Equal(r.Costs, want) || r.Best() != 1.5 {
		t.Errorf("costs %v, best %v", r.Costs, r.Best())
	}
	p := r.Params()
	if len(p) != 3 || !slices.Equal(p[0].Numbers, []float64{2, 16}) || p[2].Numbers != nil || !slices.Equal(p[2].Values, []string{"fast", "slow"}) {
		t.Errorf("parameters %+v", p)
	}
	if got := r.Levels(3); !slices.Equal(got, []uint16{0, 1, 1}) {
		t.Errorf("configuration 3 has the levels %v", got)
	}
}

func TestReadTakesPlainAndCompressedTablesWhateverTheirName(t *testing.T) {
	checkSmall(t, mustRead(t, small, "x"))
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write([]byte(small))
	w.Close()
	r, err := Read(&z, "not-compressed.csv")
	if err != nil {
		t.Fatal(err)
	}
	checkSmall(t, r)
}

func TestKernelAndDeviceComeFromTheHeaderElseTheName(t *testing.T) {
	for _, c := range []struct{ comment, name, kernel, device string }{
		{"# k on NVIDIA A100; more", "a-b.csv", "k", "NVIDIA A100"},
		{"# k on ; more", "dir/conv-mi250x.csv.gz", "k", "mi250x"},
		{"# times taken on a Monday", "conv-2d-a4000.csv.gz", "conv-2d", "a4000"},
		{"#", "plain.csv", "plain", ""},
		{"# first\n# k on D", "x-y", "k", "D"},
	} {
		r := mustRead(t, c.comment+"\na,mean_ms\n1,2\n", c.name)
		if r.Kernel != c.kernel || r.Device != c.device {
			t.Errorf("%q in %s: kernel %q on %q, want %q on %q", c.comment, c.name, r.Kernel, r.Device, c.kernel, c.device)
		}
	}
}

func TestReadNamesTheLineThatIsWrong(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"empty":           {"", "f: empty"},
		"comments only":   {"# a on b\n", "f: empty"},
		"no cost":         {"a,b\n1,2\n", "f:1: no column mean_ms"},
		"no parameters":   {"mean_ms,min_ms\n1,1\n", "f:1: no parameter"},
		"column twice":    {"# c\na,a,mean_ms\n", `f:2: column "a" occurs twice`},
		"unnamed column":  {"a,,mean_ms\n", "f:1: column 2 has no name"},
		"ragged":          {"# c\na,mean_ms\n1,2\n3\n", "f:4: wrong number of fields"},
		"not a number":    {"a,mean_ms\n1,fast\n", `f:2: mean_ms: "fast" is not a number`},
		"zero":            {"a,mean_ms\n1,0\n", "f:2: mean_ms: 0 is not a time"},
		"negative":        {"a,mean_ms\n1,2\n2,-1\n", "f:3: mean_ms: -1 is not a time"},
		"minus infinity":  {"a,mean_ms\n1,-Inf\n", "f:2: mean_ms: -Inf is not a time"},
		"two costs":       {"a,mean_ms,mean_us\n1,2,3\n", "f:1: both mean_ms and mean_us are the cost"},
		"semicolons":      {"a;mean_ms\n1;2\n", `f:1: no column mean_ms; the first line that is no comment names the columns, with commas between them: "a;mean_ms"`},
		"CR alone":        {"a,mean_ms\r1,2\r", "f:1: column 2: a line break in the name"},
		"empty value":     {"a,b,mean_ms\n1,,2\n", "f:2: b is empty"},
		"same twice":      {"# c\na,mean_ms\n1,2\n2,2\n1.0,3\n", "f:5: same configuration as line 3"},
		"all fail":        {"a,mean_ms\n1,\n2,\n", "f: every configuration fails"},
		"no rows":         {"a,mean_ms\n", "f: impossible space: no valid configuration"},
		"broken gzip":     {"\x1f\x8bxx", "f: "},
		"cut gzip":        {"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", "f: "},
		"endless comment": {"#" + strings.Repeat("x", 1<<17), "f:1: comment line"},
		"bare quote":      {"a,mean_ms\n1\"2,3\n", "f:2: "},
	} {
		_, err := Read(strings.NewReader(c.text), "f")
		if err == nil || !errors.Is(err, ErrRecording) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func TestReadRefusesTooManyParametersAndValues(t *testing.T) {
	if _, err := Read(strings.NewReader(strings.Repeat("x", 1)+manyColumns()), "f"); !errors.Is(err, ErrRecording) {
		t.Errorf("many columns: %v", err)
	}
	var b strings.Builder
	b.WriteString("a,mean_ms\n")
	for i := range space.MaxLevels + 1 {
		b.WriteString(strings.Repeat("1", 1+i/9))
		b.WriteByte(byte('1' + i%9))
		b.WriteString("x,1\n")
	}
	if _, err := Read(strings.NewReader(b.String()), "f"); !errors.Is(err, ErrRecording) || !strings.Contains(err.Error(), "values") {
		t.Errorf("many values: %v", err)
	}
}

func manyColumns() string {
	var b strings.Builder
	for i := range space.MaxParams + 1 {
		b.WriteString("p" + strings.Repeat("x", i) + ",")
	}
	return b.String() + "mean_ms\n"
}

// The same table written down in different ways is the same recording.
func TestReadTakesOtherSpellings(t *testing.T) {
	for name, text := range map[string]string{
		"byte order mark":       "\ufeff" + small,
		"CR LF":                 strings.ReplaceAll(small, "\n", "\r\n"),
		"spaces":                strings.ReplaceAll(small, ",", " , "),
		"no newline at the end": strings.TrimSuffix(small, "\n"),
		"upper case":            strings.Replace(small, "mean_ms,min_ms", "Mean_ms,MIN_MS", 1),
		"units":                 strings.Replace(small, "mean_ms,min_ms,median_ms,max_ms", "mean (ms),min_us,std_s,max (ns)", 1),
		"quotes":                strings.Replace(small, "fast,2.5", `"fast","2.5"`, 1),
		"NaN":                   strings.Replace(small, "slow,,,,", "slow,NaN,NaN,NaN,NaN", 1),
		"infinite":              strings.Replace(small, "slow,,,,", "slow,inf,,,", 1),
		"a word":                strings.Replace(small, "slow,,,,", "slow,failed,,,", 1),
		"an exception":          strings.Replace(small, "slow,,,,", "slow,CompilationFailedConfig,,,", 1),
	} {
		t.Run(name, func(t *testing.T) { checkSmall(t, mustRead(t, text, "x")) })
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = "1,2\n"[i%4]
	}
	return len(p), nil
}

func TestReadEndsWhenTheDataDoesNot(t *testing.T) {
	l := &limited{endless{}, 1 << 16}
	var err error
	for err == nil {
		_, err = l.Read(make([]byte, 1<<12))
	}
	if err != errTooLarge {
		t.Errorf("got %v", err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(small))
	f.Add([]byte("\x1f\x8b"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data), "f")
		if err != nil {
			if !errors.Is(err, ErrRecording) {
				t.Fatalf("untyped error %v", err)
			}
			return
		}
		for c := range r.Len() {
			if got, ok := r.Find(r.Levels(c)); !ok || got != c {
				t.Fatalf("configuration %d is found as %d, %v", c, got, ok)
			}
			if r.Costs[c] < r.Best() {
				t.Fatalf("cost %v below the best %v", r.Costs[c], r.Best())
			}
		}
	})
}
