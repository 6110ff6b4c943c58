package userop

import (
	"strconv"
	"strings"
)

// isNumber reports whether s is a literal of GLSL that has a 32-bit type:
// int and uint in decimal, octal or hexadecimal, and float. Literals of double
// are none.
func isNumber(s string) bool {
	if isHexadecimal(s) {
		return isInteger(strings.TrimRight(s[2:], "uU"), s, 16)
	}
	if strings.ContainsAny(s, ".eE") {
		return isFloat(s)
	}
	if f := strings.TrimRight(s, "fF"); f != s {
		return false // 1f is no float; 1.0f is
	}
	digits := strings.TrimRight(s, "uU")
	if len(digits) > 1 && digits[0] == '0' {
		return isInteger(digits[1:], s, 8)
	}
	return isInteger(digits, s, 10)
}

// isInteger reports whether digits fit 32 bits and the literal they come from
// has one suffix at most.
func isInteger(digits, literal string, base int) bool {
	if strings.HasSuffix(strings.ToLower(literal), "uu") {
		return false
	}
	_, err := strconv.ParseUint(digits, base, 32)
	return err == nil && !strings.ContainsAny(digits, "_+-")
}

func isFloat(s string) bool {
	digits := s
	if last := s[len(s)-1]; last == 'f' || last == 'F' {
		digits = s[:len(s)-1]
	}
	if digits == "" || strings.ContainsAny(digits, "_xXpPnNiIfF") {
		return false
	}
	_, err := strconv.ParseFloat(digits, 32)
	return err == nil
}
