package trace

import (
	"encoding/hex"
	"fmt"
	"math/rand/v2"
)

// Header is the name of the header in which a message names its context, as https://www.w3.org/TR/trace-context says.
const Header = "traceparent"

// Context is a span of a trace that is sampled.
type Context struct {
	Trace [16]byte
	Span  [8]byte
}

// The form is version-trace-span-flags, in lowercase hexadecimal digits. Later versions may append to it.
const (
	length  = len("00-00000000000000000000000000000000-0000000000000000-00")
	sampled = 1 // of the flags
)

// Parse reads the header's value. ok is false if it is malformed, or names a trace that is not sampled.
func Parse(text string) (c Context, ok bool) {
	if len(text) < length || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return c, false
	}
	for i := range length {
		if d := text[i]; (d < '0' || d > '9') && (d < 'a' || d > 'f') && d != '-' {
			return c, false
		}
	}
	var version, flags [1]byte
	for _, part := range []struct {
		to   []byte
		from string
	}{{version[:], text[:2]}, {c.Trace[:], text[3:35]}, {c.Span[:], text[36:52]}, {flags[:], text[53:55]}} {
		if _, err := hex.Decode(part.to, []byte(part.from)); err != nil {
			return c, false
		}
	}
	switch {
	case version[0] == 0xff, version[0] == 0 && len(text) != length, version[0] != 0 && len(text) > length && text[length] != '-':
		return c, false
	}
	return c, flags[0]&sampled != 0 && c.Trace != [16]byte{} && c.Span != [8]byte{}
}

// String is the header's value.
func (c Context) String() string { return fmt.Sprintf("00-%x-%x-%02x", c.Trace, c.Span, sampled) }

// child is a new span of the same trace.
func (c Context) child() Context {
	for n := rand.Uint64(); ; n = rand.Uint64() {
		if n != 0 {
			for i := range c.Span {
				c.Span[i] = byte(n >> (8 * i))
			}
			return c
		}
	}
}
