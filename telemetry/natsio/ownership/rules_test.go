package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ringmaster/megakernel/texttest"
)

// TestRules plays testdata: who decides, given claims, and what a process makes of its peers as time
// passes. A claim is an incarnation, a worker, and words: fallback, starting (not Deciding), since=N.
func TestRules(t *testing.T) {
	texttest.Run(t, func(t *testing.T, input string) string {
		p := player{t: t, now: time.Unix(1_000, 0), connected: true}
		for line := range strings.Lines(input) {
			if words := strings.Fields(line); len(words) > 0 && words[0] != "#" {
				p.play(words[0], words[1:])
			}
		}
		return strings.TrimSpace(p.out.String())
	})
}

type player struct {
	t         *testing.T
	out       strings.Builder
	claims    []Claim // of no peers
	peers     *peers
	now       time.Time
	connected bool
}

func (p *player) play(what string, args []string) {
	switch what {
	case "claim":
		p.claims = append(p.claims, p.claim(args))
	case "own":
		p.peers = &peers{own: p.claim(args), known: make(map[uint64]*peer), ticked: p.now}
	case "hear":
		if c := p.claim(args); p.peers.hear(c, p.now) {
			p.say("ask %d", c.Incarnation)
		}
	case "answer":
		p.peers.answered(p.number(args[0]))
	case "gone":
		p.peers.gone(p.number(args[0]))
	case "after": // in steps of a process that runs
		for left := p.duration(args[0]); left > 0; left -= p.peers.period() {
			p.tick(p.peers.period())
		}
	case "stopped":
		p.tick(p.duration(args[0]))
	case "parted":
		p.connected = false
		p.peers.parted(p.now)
	case "connected":
		p.connected = true
	case "owner":
		p.owner(args)
	default:
		p.t.Fatalf("unknown command %q", what)
	}
	if p.peers == nil {
		return
	}
	for _, e := range p.peers.events {
		p.say("%d %s", e.claim.Incarnation, e.what)
	}
	for _, e := range p.peers.lost() {
		p.say("tells that %d is lost", e.claim.Incarnation)
	}
	p.peers.events = nil
}

// tick prints whom a look at the peers asks, if that is not who was asked by the look before it.
func (p *player) tick(d time.Duration) {
	p.now = p.now.Add(d)
	ask := p.peers.tick(p.now)
	slices.Sort(ask)
	for _, incarnation := range ask {
		p.say("ask %d", incarnation)
	}
}

func (p *player) owner(workers []string) {
	claims := p.claims
	if p.peers != nil {
		claims = p.peers.claims(p.connected)
	}
	for range 2 { // in either order
		roster, line := newRoster(claims), ""
		for _, w := range workers {
			if c := roster.Owner(w); c == nil {
				line += w + ": nobody "
			} else {
				line += fmt.Sprintf("%s: %d ", w, c.Incarnation)
			}
		}
		if !strings.HasSuffix(p.out.String(), strings.TrimSpace(line)+"\n") {
			p.say("%s", strings.TrimSpace(line))
		}
		slices.Reverse(claims)
	}
}

func (p *player) say(format string, args ...any) { fmt.Fprintf(&p.out, format+"\n", args...) }

func (p *player) claim(args []string) Claim {
	c := Claim{Incarnation: p.number(args[0]), Worker: args[1], Role: RoleDecides, Deciding: true}
	for _, word := range args[2:] {
		since, found := strings.CutPrefix(word, "since=")
		switch {
		case found:
			c.SinceNs = int64(p.number(since))
		case word == "fallback":
			c.Role = RoleFallback
		case word == "starting":
			c.Deciding = false
		default:
			p.t.Fatalf("unknown word %q of a claim", word)
		}
	}
	return c
}

func (p *player) number(text string) uint64 {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *player) duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}

// When one of five processes ends, only its workers get another owner, and each of the others gets its
// share of them: between half and twice an even one.
func TestOwnersOfAProcessThatEndsAreSpread(t *testing.T) {
	const workers = 1000
	var claims []Claim
	for i := range 5 {
		claims = append(claims, Claim{Incarnation: 1<<40 + uint64(i)*7919, Worker: AnyWorker, Deciding: true})
	}
	all, rest := newRoster(claims), newRoster(claims[1:])
	heirs := make(map[uint64]int)
	for i := range workers {
		w := fmt.Sprintf("gpu%d", i)
		was, is := all.Owner(w).Incarnation, rest.Owner(w).Incarnation
		if was == claims[0].Incarnation {
			heirs[is]++
		} else if was != is {
			t.Errorf("%s moved from %d to %d, which both live", w, was, is)
		}
	}
	for _, c := range claims[1:] {
		if even, n := workers/5/4, heirs[c.Incarnation]; n < even/2 || n > 2*even {
			t.Errorf("process %d takes over %d workers, an even share is %d", c.Incarnation, n, even)
		}
	}
}

// The order of claims is total: of any three, for any worker, there is one owner, whatever is compared first.
func TestOwnersAreTheSameForAll(t *testing.T) {
	var kinds []Claim
	for _, worker := range []string{AnyWorker, "w"} {
		for _, role := range []Role{RoleDecides, RoleFallback} {
			for _, deciding := range []bool{false, true} {
				for since := range int64(2) {
					kinds = append(kinds, Claim{Worker: worker, Role: role, Deciding: deciding, SinceNs: since})
				}
			}
		}
	}
	for _, a := range kinds {
		for _, b := range kinds {
			for _, c := range kinds {
				a.Incarnation, b.Incarnation, c.Incarnation = 1, 2, 3
				want := newRoster([]Claim{a, b, c}).Owner("w")
				for _, order := range [][]Claim{{a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
					if got := newRoster(order).Owner("w"); *got != *want {
						t.Fatalf("of %+v: %d decides, in another order %d", order, got.Incarnation, want.Incarnation)
					}
				}
			}
		}
	}
}

func TestKnownPeersAreBounded(t *testing.T) {
	p := peers{own: Claim{Incarnation: 1, Worker: AnyWorker}, known: make(map[uint64]*peer)}
	for i := range uint64(2 * maxPeers) {
		p.hear(Claim{Incarnation: 2 + i, Worker: AnyWorker}, p.ticked)
	}
	if len(p.known) != maxAsked || p.asked != maxAsked {
		t.Errorf("%d peers for all workers, want %d", len(p.known), maxAsked)
	}
	for i := range uint64(2 * maxPeers) {
		p.hear(Claim{Incarnation: 1<<32 + i, Worker: "w"}, p.ticked)
	}
	if len(p.known) != maxPeers {
		t.Errorf("%d peers, want %d", len(p.known), maxPeers)
	}
	p.gone(2)
	if !p.hear(Claim{Incarnation: 2, Worker: AnyWorker}, p.ticked) {
		t.Error("the place of one that is gone is not free again")
	}
	if c := p.claims(true); len(c) != 1+maxPeers-maxAsked {
		t.Errorf("%d claims count, want this process's and those for workers by their names", len(c))
	}
}

func TestClaimsAreRead(t *testing.T) {
	own := Claim{Incarnation: 1 << 63, Worker: "gpu0", Role: RoleFallback, Deciding: true, SinceNs: -1, Process: "p"}
	if got, err := parse(own.text()); err != nil || got != own {
		t.Errorf("%+v, %v", got, err)
	}
	newer, err := parse([]byte(`{"incarnation":"9","worker":"*","role":"decides","deciding":true,"since_ns":5,"process":"p","more":[{}]}`))
	if want := (Claim{9, AnyWorker, RoleDecides, true, 5, "p"}); err != nil || newer != want {
		t.Errorf("with a field more: %+v, %v", newer, err)
	}
	for _, text := range []string{"", "{", "[]", "7", "null", `{"incarnation":"0","worker":"w","role":"decides"}`,
		`{"incarnation":"9","worker":"a.b","role":"decides"}`, `{"incarnation":9,"worker":"w","role":"decides"}`, `{"incarnation":"9","worker":"w"}`,
		`{"incarnation":"9","worker":"w","role":"decides","since_ns":1e99}`, `{"incarnation":"9","worker":"w","role":"king"}`, `{"incarnation":"9","worker":"*","role":"fallback"}`,
		fmt.Sprintf(`{"incarnation":"9","worker":"w","role":"decides","process":%q}`, make([]byte, maxClaim))} {
		if c, err := parse([]byte(text)); err == nil {
			t.Errorf("%.80s is taken for %+v", text, c)
		}
	}
	long, err := parse([]byte(`{"incarnation":"9","worker":"w","role":"decides","process":"` + strings.Repeat("ä", 2*maxProcess/3) + `"}`))
	if err != nil || len(long.Process) > maxProcess || cmp.Compare(len(long.Process), 1) < 0 {
		t.Errorf("process of %d bytes: %v", len(long.Process), err)
	}
}
