package telemetry

// TokenPlaces is how many places a table has that TokenPlace points into.
const TokenPlaces = 512

// TokenPlace returns a place for a token in a table that remembers what was
// found last at each: a hash in 0..TokenPlaces-1. A map would do the same at
// three times the cost.
func TokenPlace(token string) int { return tokenPlace(token) }

// tokenCache remembers the last tokens at each place and at its neighbour.
type tokenCache [TokenPlaces]string

// token returns the token b as a string of its own and where it is remembered,
// or false if b is none.
func (d *Decoder) token(b []byte) (token string, place int, ok bool) {
	if len(b) == 0 {
		return "", 0, false
	}
	place = tokenPlace(b)
	if known := d.tokens[place]; known == string(b) {
		return known, place, true
	}
	if known := d.tokens[place^1]; known == string(b) {
		return known, place ^ 1, true
	}
	if !validToken(b) || string(b) == BatchQueue {
		return "", 0, false
	}
	token = d.names.get(b)
	d.tokens[place^1], d.tokens[place] = d.tokens[place], token
	return token, place, true
}

// tokenPlace looks at all bytes of a token of up to 24 bytes, and of a longer
// one at eight at each end and in the middle.
func tokenPlace[T string | []byte](t T) int {
	n := len(t)
	var h uint64
	switch {
	case n > 8:
		h = (little64(t, 0)*hashA^little64(t, n-8))*hashA ^ little64(t, n/2-4)
	case n >= 4:
		h = little32(t, 0)<<32 | little32(t, n-4)
	case n > 0:
		h = uint64(t[0])<<16 | uint64(t[n/2])<<8 | uint64(t[n-1])
	}
	h = (h ^ uint64(n)) * hashA
	return int(h >> (64 - 9))
}

// hashA is 2^64 divided by the golden ratio, which spreads consecutive numbers.
const hashA = 0x9e3779b97f4a7c15

func little64[T string | []byte](t T, i int) uint64 {
	return little32(t, i) | little32(t, i+4)<<32
}

func little32[T string | []byte](t T, i int) uint64 {
	return uint64(t[i]) | uint64(t[i+1])<<8 | uint64(t[i+2])<<16 | uint64(t[i+3])<<24
}
