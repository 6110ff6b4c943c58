package main

import "testing"

func TestFourDigitsNeedNoExponent(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 0.1234567: "0.1235", 9999: "9999", 10_980: "10.98 k", 905_512: "905.5 k", 7.29e6: "7.29 M", 4.74e10: "47.4 G",
	} {
		if got := fourDigits(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
}
