package gpu

import (
	"errors"
	"fmt"
	"testing"
)

// contextLost is an error as devices report their loss.
type contextLost bool

func (contextLost) Error() string { return "the context is lost" }
func (l contextLost) Lost() bool  { return bool(l) }

func TestLostKnowsALossBehindOtherErrors(t *testing.T) {
	other := errors.New("GL_OUT_OF_MEMORY")
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{other, false},
		{contextLost(false), false},
		{contextLost(true), true},
		{fmt.Errorf("launch 3: %w", errors.Join(other, contextLost(true))), true},
	} {
		if Lost(test.err) != test.want {
			t.Errorf("%v: lost is %v", test.err, !test.want)
		}
	}
}
