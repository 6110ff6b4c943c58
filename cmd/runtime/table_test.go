package main

import "testing"

func TestTablesHaveNoBlanksAtTheEndsOfLines(t *testing.T) {
	got := table([]string{"A", "MARK"}, [][]string{{"x", ""}, {"yy", "<-"}})
	if want := "A   MARK\nx\nyy  <-\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestTablesAlignNumbersToTheRight(t *testing.T) {
	got := table([]string{"QUEUE", "LENGTH", "TIME", "GEOMETRY", "VS"}, [][]string{
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
	got := table([]string{"HITS"}, [][]string{{"140,000"}, {"no plan: 3 workgroups are too many"}, {"5"}})
	if want := "HITS\n140,000\nno plan: 3 workgroups are too many\n5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAHeaderAloneIsATable(t *testing.T) {
	if got, want := table([]string{"NAME", "NODES"}, nil), "NAME  NODES\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestFourDigitsNeedNoExponent(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1234567: "0.1235", 9999: "9999", 10_980: "10.98 k", 905_512: "905.5 k", 7.29e6: "7.29 M", 4.74e10: "47.4 G",
	} {
		if got := fourDigits(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
