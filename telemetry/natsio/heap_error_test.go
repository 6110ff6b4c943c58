package natsio

import (
	"errors"
	"strings"
	"testing"
)

func TestAHeapErrorSaysItsSentenceOnce(t *testing.T) {
	for code, sentinel := range map[string]error{codeNotFound: ErrNoWindow, codeOutside: ErrOutsideWindow} {
		for _, description := range []string{"words 3 to 5: " + sentinel.Error(), "words 3 to 5"} {
			err := heapError(code, description)
			if !errors.Is(err, sentinel) || strings.Count(err.Error(), sentinel.Error()) != 1 || !strings.Contains(err.Error(), "words 3 to 5") {
				t.Errorf("%v", err)
			}
		}
	}
	if err := heapError(codeUnavailable, "busy"); err.Error() != "code 503: busy" {
		t.Error(err)
	}
}
