package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeSpace writes a small recorded space: a bowl whose bottom is at shift.
func writeSpace(t *testing.T, name, comment string, shift int) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(comment + "\nwidth,groups,chunk,mean_ms\n")
	for w := range 8 {
		for g := range 8 {
			for c := range 4 {
				if w+g == 14 {
					fmt.Fprintf(&b, "%d,%d,%d,\n", 32<<w, 1<<g, c)
					continue
				}
				x, y, z := w-3-shift, g-4, c-shift
				fmt.Fprintf(&b, "%d,%d,%d,%d\n", 32<<w, 1<<g, c, 10+x*x+y*y+x*y/2+z*z)
			}
		}
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestBenchTunerReportsEveryBudgetOverallAndByFile(t *testing.T) {
	a := writeSpace(t, "bowl-a.csv", "# a space", 0)
	b := writeSpace(t, "bowl-b.csv", "# a space", 1)
	alone := writeSpace(t, "other.csv", "# lonely on a device", 1)
	run := bench(t, "tuner", "--json", "--repeats", "1", "--space", a, "--space", b, "--space", alone)
	if run.code != 0 {
		t.Fatalf("exit code %d: %s", run.code, run.err)
	}
	if !strings.Contains(run.err, "no warm start") || !strings.Contains(run.err, "space=other kernel=lonely") {
		t.Errorf("nothing says that one space has no warm start: %s", run.err)
	}
	rows := make(map[string]row)
	lines := bufio.NewScanner(strings.NewReader(run.stdout))
	lines.Scan() // the machine
	for lines.Scan() {
		var row row
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		rows[row.Name] = row
	}
	want := []string{"tuner/natural/50", "tuner/natural/100", "tuner/natural/200", "tuner/suggest/cold", "tuner/suggest/warm"}
	for _, name := range []string{"", "/bowl-a", "/bowl-b", "/other"} {
		for _, budget := range []string{"50", "100", "200"} {
			want = append(want, "tuner/cold/"+budget+name)
		}
		if name != "/other" {
			want = append(want, "tuner/warm/10"+name, "tuner/warm/20"+name)
		}
	}
	for _, name := range want {
		row, ok := rows[name]
		if !ok {
			t.Errorf("no row %s", name)
			continue
		}
		if row.Unit == "optimum" && (row.Value <= .5 || row.Value > 1 || row.YardstickValue <= 0 || row.YardstickValue > 1 || row.Ratio == 0) {
			t.Errorf("%+v", row)
		}
	}
	if len(rows) != len(want) {
		t.Errorf("%d rows, want %d", len(rows), len(want))
	}
	if row := rows["tuner/cold/200"]; row.Value < .99 {
		t.Errorf("200 of 256 measurements reach %v of the optimum", row.Value)
	}
}

func TestBenchTunerTakesKernelsAsToldToo(t *testing.T) {
	a := writeSpace(t, "x.csv", "# one on a", 0)
	b := writeSpace(t, "y.csv", "# two on b", 1)
	spaces, err := loadSpaces(&tunerFlags{Space: []string{a, b}, Repeats: 1})
	if err != nil || len(spaces[0].others) != 0 {
		t.Fatalf("different kernels teach each other: %v", err)
	}
	spaces, err = loadSpaces(&tunerFlags{Space: []string{a, b}, Repeats: 1, Kernel: "same"})
	if err != nil || len(spaces[0].others) != 1 || len(spaces[1].others) != 1 {
		t.Fatalf("the same kernel, but they do not teach each other: %v", err)
	}
}

func TestBenchTunerSaysWhatIsWrong(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.csv")
	if err := os.WriteFile(bad, []byte("a,mean_ms\n1,-3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"give each with --space FILE":          {"tuner"},
		"--repeats 0":                          {"tuner", "--repeats", "0", "--space", bad},
		"bad.csv:2: mean_ms: -3 is not a time": {"tuner", "--space", bad},
	} {
		if run := bench(t, args...); run.code != 1 || !strings.Contains(run.err, want) {
			t.Errorf("%v: exit code %d, %s", args, run.code, run.err)
		}
	}
}
