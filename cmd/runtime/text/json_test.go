package text

import (
	"strings"
	"testing"
)

// Programs go through the lists of what is printed, and people look at it on terminals.
func TestJSONHasListsOfNothingAndNoControlCharacters(t *testing.T) {
	var out strings.Builder
	if err := JSON(&out, struct {
		Names   []string       `json:"names"`
		Counts  map[string]int `json:"counts"`
		Pointer *int           `json:"pointer"`
		Number  uint64         `json:"number,string"`
		Left    string         `json:"left,omitempty"`
		Said    string         `json:"said"`
	}{Number: 1<<64 - 1, Said: "<a>\x1b\x7f\u009b\xff"}); err != nil {
		t.Fatal(err)
	}
	want := `{"names":[],"counts":{},"pointer":null,"number":"18446744073709551615","said":"\u003ca\u003e\u001b` + "\ufffd\ufffd\ufffd" + `"}` + "\n"
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", out.String(), want)
	}
}
