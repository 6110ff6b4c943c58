package actors

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
)

// Every transcript is the same, but for the messages of parking itself, when
// each queue is parked whenever it has nothing to do.
func TestParkingIsInvisible(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	parking := regexp.MustCompile(`(?m)^(worker: parked|policy: beat).*\n`)
	parks := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got string
			synctest.Test(t, func(t *testing.T) {
				var n int
				got, n = replay(t, string(text), true)
				parks += n
			})
			if parking.ReplaceAllString(got, "") != parking.ReplaceAllString(string(text), "") {
				t.Errorf("transcript differs; got:\n%s", got)
			}
		})
	}
	if parks < 50 {
		t.Errorf("only %d times a queue was parked", parks)
	}
}
