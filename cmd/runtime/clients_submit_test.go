//go:build cgo

package main

import (
	"context"
	"testing"

	"ringmaster/telemetry/natsio/bustest"
	"ringmaster/telemetry/natsio/client"
)

func TestTheSubmitterOfTheDocumentation(t *testing.T) {
	t.Parallel() // it waits for another process most of its time
	requireGL(t)
	dir := nodeClients(t)
	s := serve(t, "--share-device")
	conn := bustest.Dial(t, s.url)
	for queue, flags := range map[string][]string{"maps": nil, "arrays": {"--array"}} {
		const slots = 50_000
		submitter := startClient(t, dir, "submitter.mjs", append(flags, "--server", s.url, "--worker", "w1", "--queue", queue, "--slots", "50000")...)
		if done := submitter.object(`"done"`); done["executed"] != float64(slots) || done["faulted"] != 0.0 || done["dropped"] != 0.0 {
			t.Errorf("%s: %v", queue, done)
		}
		if code := submitter.ended(); code != 0 {
			t.Errorf("%s: exit code %d", queue, code)
		}
		words := make([]uint32, slots+1)
		if err := client.Download(context.Background(), conn, "w1", queue, 0, words); err != nil {
			t.Fatal(err)
		}
		for i, w := range words {
			if (w == 1) != (i < slots) || w > 1 {
				t.Fatalf("%s: word %d is %d", queue, i, w)
			}
		}
	}
	refused := startClient(t, dir, "submitter.mjs", "--server", s.url, "--worker", "w1", "--queue", "many", "--slots", "65537")
	refused.line(refused.errors, "refused, perhaps another's: oversized")
	refused.terminate()
}
