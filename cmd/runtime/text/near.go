package text

import (
	"fmt"
	"strings"
)

// Near is the end of a message about a word that nobody knows: the known ones that are written only a little otherwise,
// or where all of them are listed.
func Near(word string, known []string, listed string) string {
	var best []string
	least := 2 // bytes
	for _, k := range known {
		d := least + 1
		switch {
		case len(word) > 3 && (strings.HasPrefix(k, word) || strings.HasPrefix(word, k)):
			d = 2
		case max(len(word)-len(k), len(k)-len(word)) <= least:
			d = distance(word, k)
		}
		switch {
		case d > least || d >= len(k)-1:
		case d < least:
			best, least = []string{k}, d
		default:
			best = append(best, k)
		}
	}
	if len(best) == 0 || len(best) > 3 {
		return "; " + listed
	}
	return fmt.Sprintf("; did you mean %s?", strings.Join(best, " or "))
}

// distance is how many bytes have to be put in, taken away or replaced to make b of a, as Levenshtein counts them.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // from what is read of a to each start of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diagonal
			if a[i] != b[j] {
				d = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
