package text

import "testing"

func TestAWordThatIsNearlyRightIsNamed(t *testing.T) {
	known := []string{"rate", "drain", "share-device", "http", "http-token", "gl", "token-a", "token-b"}
	for word, want := range map[string]string{
		"drian": "; did you mean drain?", "rat": "; did you mean rate?", "share-devices": "; did you mean share-device?",
		"http-tokn": "; did you mean http-token?", "share": "; did you mean share-device?", "hptt": "; did you mean http?", "toke": "; did you mean token-a or token-b?", "x": "; see there", "glue": "; see there", "": "; see there",
	} {
		if got := Near(word, known, "see there"); got != want {
			t.Errorf("%s%s, want %q", word, got, want)
		}
	}
	for pair, want := range map[[2]string]int{{"", "abc"}: 3, {"abc", ""}: 3, {"kitten", "sitting"}: 3, {"same", "same"}: 0, {"ab", "ba"}: 2} {
		if got := distance(pair[0], pair[1]); got != want {
			t.Errorf("from %q to %q: %d, want %d", pair[0], pair[1], got, want)
		}
	}
}
