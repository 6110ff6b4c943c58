package doctor

import (
	"strings"
	"testing"

	"ringmaster/telemetry/natsio"
)

func TestWhatAServerHasLeftIsSaid(t *testing.T) {
	const mib = 1 << 20
	work := func(used uint64) natsio.Report {
		return natsio.Report{Account: natsio.Account{MaxStore: -1}, Streams: []natsio.StreamUse{{Name: "W", Bytes: used, MaxBytes: 1000 * mib, Refuses: true}}}
	}
	for _, c := range []struct {
		about   string
		report  natsio.Report
		missing bool
		says    string
	}{
		{"an empty stream", work(0), false, "W: 0 bytes of 1000 MiB"},
		{"a stream nearly full", work(910 * mib), false, "warning: W is nearly full, 910 MiB of 1000 MiB"},
		{"a full stream", work(999*mib + 1), true, "W is full, 999 MiB of 1000 MiB: what is submitted is refused until batches end"},
		{"a stream with more than it may have", work(1001 * mib), true, "W is full"},
		{"a full stream that forgets", natsio.Report{Account: natsio.Account{MaxStore: -1}, Streams: []natsio.StreamUse{{Name: "D", Bytes: 100 * mib, MaxBytes: 100 * mib}}}, false, "D: 100 MiB of 100 MiB, then the oldest make room"},
		{"a stream without a bound", natsio.Report{Account: natsio.Account{MaxStore: -1}, Streams: []natsio.StreamUse{{Name: "X", Bytes: 20 << 10, Refuses: true}}}, false, "X: 20 KiB"},
		{"no limit", natsio.Report{Account: natsio.Account{MaxStore: -1}, Absent: []string{"D"}}, false, "the account has no limit and stores 0 bytes"},
		{"an empty account", natsio.Report{Account: natsio.Account{MaxStore: 100 * mib}}, false, "room for streams: the account stores 0 bytes of 100 MiB"},
		{"an account nearly full", natsio.Report{Account: natsio.Account{MaxStore: 100 * mib, Store: 91 * mib}}, false, "warning: the account is nearly full, it stores 91 MiB of 100 MiB"},
		{"a full account", natsio.Report{Account: natsio.Account{MaxStore: 100 * mib, Store: 101 * mib}}, true, "the account is full, it stores 101 MiB of 100 MiB"},
		{"an account that promised all", natsio.Report{Account: natsio.Account{MaxStore: 100 * mib, Reserved: 99 * mib}, Absent: []string{"D", "E"}}, true, "D, E cannot be made: the account's streams have been promised 99 MiB of 100 MiB"},
		{"an account that promised all it needs to", natsio.Report{Account: natsio.Account{MaxStore: 100 * mib, Reserved: 99 * mib}}, false, "stores 0 bytes of 100 MiB"},
		{"too few streams", natsio.Report{Account: natsio.Account{MaxStore: -1, Streams: 4, MaxStreams: 5}, Absent: []string{"D", "E"}}, true, "the account has 4 of 5 streams, and D, E are to be made"},
		{"enough streams", natsio.Report{Account: natsio.Account{MaxStore: -1, Streams: 4, MaxStreams: 5}, Absent: []string{"D"}}, false, "no limit"},
	} {
		missing, said := false, ""
		for _, f := range Room(&c.report) {
			missing, said = missing || f.Missing, said+f.Says+"\n"
		}
		if missing != c.missing || !strings.Contains(said, c.says) {
			t.Errorf("%s: missing %v: %s", c.about, missing, said)
		}
	}
}
