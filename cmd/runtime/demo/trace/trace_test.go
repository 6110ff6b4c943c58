package trace

import (
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/graph"
)

func load(t *testing.T) ([]Request, *graph.Graph) {
	t.Helper()
	requests, err := Requests()
	if err != nil {
		t.Fatal(err)
	}
	social, err := SocialGraph()
	if err != nil {
		t.Fatal(err)
	}
	return requests, social.Out
}

func TestBundledDataIsWhatItsReadmeSays(t *testing.T) {
	requests, graph := load(t)
	if len(requests) != 19_366 || graph.Nodes() != 4_039 || graph.Edges() != 2*88_234 {
		t.Errorf("%d requests, %d nodes, %d edges", len(requests), graph.Nodes(), graph.Edges())
	}
	for i := 1; i < len(requests); i++ {
		if requests[i].At < requests[i-1].At {
			t.Fatalf("request %d arrives before request %d", i, i-1)
		}
	}
}

func TestReplayAdmitsEveryRequestOnceAndKeepsTheBudget(t *testing.T) {
	requests, _ := load(t)
	for _, tick := range []time.Duration{100 * time.Millisecond, 7 * time.Second} {
		replay := NewReplay(requests)
		admitted, levels, peak, constrained := 0, 0, uint64(0), 0
		var last Step
		for now := time.Duration(0); !last.Ended; now += tick {
			last = *replay.Advance(now)
			for _, r := range last.Admitted {
				if r != requests[admitted] {
					t.Fatalf("request %d admitted out of order", admitted)
				}
				admitted++
			}
			levels += last.Levels
			peak = max(peak, last.ResidentBytes)
			if last.ResidentBytes*10_000/MemoryBudgetBytes >= 8_500 {
				constrained++
			}
			if last.ResidentBytes > MemoryBudgetBytes {
				t.Fatalf("%d bytes resident at %v, over the budget", last.ResidentBytes, now)
			}
		}
		if admitted != len(requests) || levels != len(requests)/RequestsPerLevel {
			t.Errorf("tick %v: %d admitted, %d levels", tick, admitted, levels)
		}
		if last.WaitingPrefill != 0 || last.WaitingDecode != 0 {
			t.Errorf("tick %v: %d and %d slots still wait at the end", tick, last.WaitingPrefill, last.WaitingDecode)
		}
		if constrained == 0 || peak < MemoryBudgetBytes*8/10 {
			t.Errorf("tick %v: the trace never presses on the budget: peak %d, %d ticks above 85 %%", tick, peak, constrained)
		}
	}
}

func TestReplayIsIndependentOfTheTick(t *testing.T) {
	requests, _ := load(t)
	fine, coarse := NewReplay(requests), NewReplay(requests)
	for now := time.Duration(0); now < 20*time.Minute; now += time.Second {
		fine.Advance(now)
	}
	end := 20*time.Minute - time.Second
	fineStep, coarseStep := *fine.Advance(end), *coarse.Advance(end)
	if fineStep.ResidentBytes != coarseStep.ResidentBytes || fine.admitted != coarse.admitted {
		t.Errorf("fine %d bytes %d admitted, coarse %d bytes %d admitted",
			fineStep.ResidentBytes, fine.admitted, coarseStep.ResidentBytes, coarse.admitted)
	}
}

func TestWalkReachesEveryNodeOnceFromEverySource(t *testing.T) {
	_, graph := load(t)
	walk := NewWalk(graph)
	for source := range 3 {
		seen := map[uint32]bool{}
		out := uint64(0)
		for {
			f := walk.Next()
			for _, n := range f.Nodes {
				if seen[n] {
					t.Fatalf("source %d: node %d on two levels", source, n)
				}
				seen[n] = true
			}
			out += f.OutDegreeSum
			if got := uint64(len(graph.Targets)) - f.Unexplored; got != out {
				t.Fatalf("source %d level %d: explored %d edges, frontiers sum to %d", source, f.Level, got, out)
			}
			if f.Unexplored == 0 {
				break
			}
		}
		if len(seen) != int(graph.Nodes()) {
			t.Errorf("source %d reaches %d of %d nodes", source, len(seen), graph.Nodes())
		}
	}
}

func TestFrontiersSpanSparseHybridAndDense(t *testing.T) {
	_, graph := load(t)
	walk := NewWalk(graph)
	var sparse, hybrid, dense int
	for range 200 {
		switch bps := len(walk.Next().Nodes) * 10_000 / int(graph.Nodes()); {
		case bps <= 500:
			sparse++
		case bps < 4_000:
			hybrid++
		default:
			dense++
		}
	}
	if sparse == 0 || hybrid == 0 || dense == 0 {
		t.Errorf("sparse %d, hybrid %d, dense %d levels", sparse, hybrid, dense)
	}
}

func TestDamagedDataIsRefusedWithItsLine(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"short row", "a,b,c\n2023-11-16 18:15:46.68,1\n", "wrong number of fields"},
		{"bad time", "a,b,c\nyesterday,1,2\n", "line 2"},
		{"negative tokens", "a,b,c\n2023-11-16 18:15:46.68,-1,2\n", "line 2"},
	} {
		if _, err := Read(strings.NewReader(c.data)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", c.name, err, c.want)
		}
	}
}
