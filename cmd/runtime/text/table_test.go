package text

import "testing"

func TestTablesHaveNoBlanksAtTheEndsOfLines(t *testing.T) {
	got := Table([]string{"A", "MARK"}, [][]string{{"x", ""}, {"yy", "<-"}})
	if want := "A   MARK\nx\nyy  <-\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTablesAlignNumbersToTheRight(t *testing.T) {
	got := Table([]string{"QUEUE", "LENGTH", "TIME", "GEOMETRY", "VS"}, [][]string{
		{"q1", "7", "1.5 µs", "64×2", "1.000"},
		{"über", "-", "12.25 ms", "128×28", ""},
		{"q3", "1,234,567", "3s", "1×1", "+0.5 %"},
	})
	want := "" +
		"QUEUE     LENGTH      TIME  GEOMETRY      VS\n" +
		"q1             7    1.5 µs  64×2       1.000\n" +
		"über           -  12.25 ms  128×28\n" +
		"q3     1,234,567        3s  1×1       +0.5 %\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestAColumnWithOneWordIsNoColumnOfNumbers(t *testing.T) {
	got := Table([]string{"HITS"}, [][]string{{"140,000"}, {"no plan: 3 workgroups are too many"}, {"5"}})
	if want := "HITS\n140,000\nno plan: 3 workgroups are too many\n5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAHeaderAloneIsATable(t *testing.T) {
	if got, want := Table([]string{"NAME", "NODES"}, nil), "NAME  NODES\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGroupedSeparatesThousands(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "-1,234,567"} {
		if got := Grouped(n); got != want {
			t.Errorf("Grouped(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWrapBreaksAtBlanksAndIndents(t *testing.T) {
	for text, want := range map[string]string{
		"":                   "",
		"short":              "short",
		"a    b 12345 µµµµµ": "a    b\n  12345\n  µµµµµ",
		"a 1234567890 b":     "a\n  1234567890\n  b",
	} {
		if got := Wrap(text, 2, 8); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
