package access

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ringmaster/telemetry"
)

var gpu0 = Scope{Worker: "gpu0", Queue: "q"}

func TestRightsAreOfTheNamesThatAUserIsFor(t *testing.T) {
	for _, c := range []struct {
		kind               Kind
		subject            string
		publish, subscribe bool
	}{
		{Publisher, "ringmaster.v1.telemetry.gpu0.q", true, false},
		{Publisher, "ringmaster.v1.telemetry.gpu0.other", false, false},
		{Publisher, "ringmaster.v1.telemetry.gpu1.q", false, false},
		{Worker, "ringmaster.v1.telemetry.gpu0.other", true, true},
		{Worker, "ringmaster.v1.telemetry.gpu1.q", false, true},
		{Worker, "ringmaster.v1.recommend.gpu1.q", false, false},
		{Worker, "ringmaster.v1.work.gpu0.q", false, false},
		{Decider, "ringmaster.v1.recommend.gpu1.q", true, false},
		{Submitter, "ringmaster.v1.work.gpu0.q", true, false},
		{Submitter, "ringmaster.v1.done.gpu0.q", false, true},
		{Subscriber, "ringmaster.v1.recommend.gpu0.q", false, true},
		{Operator, "ringmaster.v1.recommend.gpu7.x", false, true},
		{Subscriber, "ringmaster.v1.decided.gpu0.q", false, false},
		{Worker, "ringmaster.v1.done.pool.gpus.q", false, false},
	} {
		rights := Of(c.kind, gpu0)
		if p, s := mayPublish(rights, c.subject), maySubscribe(rights, c.subject); p != c.publish || s != c.subscribe {
			t.Errorf("%v, %s: publish %v, subscribe %v", c.kind, c.subject, p, s)
		}
	}
}

func TestAPoolsWorkIsForThoseWhoNameIt(t *testing.T) {
	member, sender := Of(Worker, Scope{Worker: "gpu0", Pool: "gpus"}), Of(Submitter, Scope{Worker: telemetry.Pool("gpus"), Queue: "q"})
	const consumer = "$JS.API.CONSUMER.CREATE.RINGMASTER_WORK.pool+gpus=q.ringmaster.v1.work.pool.gpus.q"
	if !mayPublish(member, "ringmaster.v1.done.pool.gpus.q") || !maySubscribe(member, "ringmaster.v1.cancel.pool.gpus.*") || !mayPublish(member, consumer) {
		t.Error("a worker of the pool lacks a right")
	}
	if mayPublish(member, "ringmaster.v1.done.pool.others.q") || mayPublish(member, "ringmaster.v1.work.pool.gpus.q") {
		t.Error("a worker of the pool has a right of others")
	}
	if !mayPublish(sender, "ringmaster.v1.work.pool.gpus.q") || !maySubscribe(sender, "ringmaster.v1.done.pool.gpus.q") || mayPublish(sender, "ringmaster.v1.work.gpu0.q") || mayPublish(sender, "ringmaster.v1.work.pool.gpus.other") {
		t.Error("a submitter to the pool has other rights")
	}
}

func TestPrefixDomainAndInboxStandInTheSubjects(t *testing.T) {
	rights := Of(Worker, Scope{Subjects: telemetry.Subjects{Prefix: "lab.gpu.v1"}, Worker: "w", Domain: "hub", Inbox: "_INBOX.w"})
	for _, subject := range []string{"lab.gpu.v1.done.w.q", "$JS.hub.API.STREAM.INFO.LAB_GPU_WORK", "$JS.API.STREAM.INFO.LAB_GPU_WORK", "$JS.hub.API.$KV.LAB_GPU_TUNER.k", "$JS.ACK.LAB_GPU_WORK.c.1"} {
		if !mayPublish(rights, subject) {
			t.Errorf("may not publish on %s", subject)
		}
	}
	if maySubscribe(rights, "_INBOX.x") || !maySubscribe(rights, "_INBOX.w.x") {
		t.Error("the inboxes are not the user's own")
	}
}

func TestCoversIsWhatAServerCallsASubset(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a", false}, {"a", "a.b", false}, {"a.*", "a.b", true}, {"a.*", "a.*", true}, {"a.b", "a.*", false},
		{"a.>", "a.b.c", true}, {"a.>", "a.*", true}, {"a.>", "a", false}, {"a.*", "a.>", false}, {"*.b", "a.b", true}, {">", "a.>", true},
	} {
		if got := covers(c.pattern, c.subject); got != c.want {
			t.Errorf("%s covers %s: %v", c.pattern, c.subject, got)
		}
	}
}

func TestEveryKindHasForbiddenActsToTry(t *testing.T) {
	for _, kind := range Kinds() {
		forbidden, allowed := 0, map[string]bool{}
		for _, a := range Acts(kind, gpu0) {
			if !a.Allowed {
				forbidden++
				continue
			}
			allowed[fmt.Sprint(a.Subject, a.Subscribe)] = true
		}
		if forbidden < 24 {
			t.Errorf("%v: %d forbidden acts", kind, forbidden)
		}
		for _, r := range Of(kind, gpu0) { // of every right something is tried
			tried := slices.ContainsFunc(Acts(kind, gpu0), func(a Act) bool {
				return a.Subscribe && r.Subscribe && a.Subject == r.Subject || !a.Subscribe && r.Publish && covers(r.Subject, a.Subject)
			})
			if !tried {
				t.Errorf("%v: nothing is tried of %s", kind, r.Subject)
			}
		}
		if len(allowed) < 3 {
			t.Errorf("%v: %d allowed acts", kind, len(allowed))
		}
	}
}

// What is tried must not be a thing that somebody has: whatever it does is done to nobody.
func TestActsToPublishOfOthersNameNobody(t *testing.T) {
	for _, a := range Acts(Worker, Scope{Worker: "*", Queue: "*"}) {
		if !a.Subscribe && strings.ContainsAny(a.Subject, "*>") {
			t.Errorf("%s has a wildcard", a.Subject)
		}
	}
}

func TestUsersOfAFleet(t *testing.T) {
	f := Fleet{Workers: []string{"gpu0", "gpu1"}, Queues: []string{"a", "b"}}
	users, err := f.Users()
	if err != nil || len(users) != 2+2*(1+3*2) {
		t.Errorf("%d users, %v", len(users), err)
	}
	f.Pool = "gpus"
	if users, err = f.Users(); err != nil || len(users) != 2+2*(1+3*2)+2 || users[len(users)-1].Name != "submitter-pool-gpus-b" {
		t.Errorf("%d users with a pool, %v", len(users), err)
	}
	for name, bad := range map[string]Fleet{
		"a bad pool":         {Workers: []string{"a"}, Pool: "x.y"},
		"a wildcard":         {Workers: []string{"*"}},
		"a dot":              {Workers: []string{"a.b"}},
		"a quote":            {Workers: []string{`a"b`}},
		"a bad prefix":       {Workers: []string{"a"}, Subjects: telemetry.Subjects{Prefix: "a b"}},
		"one variable twice": {Workers: []string{"gpu-0", "gpu_0"}},
		"a bad domain":       {Workers: []string{"a"}, Domain: "x.y"},
	} {
		if _, err := bad.Users(); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

// Whoever makes or changes a stream chooses which subjects it takes, which other streams it copies and where it publishes
// what it has: all of the account. Tenants may not.
func TestNoTenantMakesAStream(t *testing.T) {
	scope := Scope{Worker: "gpu0", Queue: "q"}
	for _, kind := range []Kind{Publisher, Submitter, Subscriber} {
		for _, r := range Of(kind, scope) {
			if r.Publish && (strings.Contains(r.Subject, "STREAM.CREATE") || strings.Contains(r.Subject, "STREAM.UPDATE") || strings.Contains(r.Subject, "STREAM.*")) {
				t.Errorf("a %s may publish on %s", kind, r.Subject)
			}
		}
	}
}

// The commands for nsc give the rights of the table, and nothing else.
func TestCommandsForNSC(t *testing.T) {
	users, err := (&Fleet{Workers: []string{"gpu0"}, Queues: []string{"q"}}).Users()
	if err != nil {
		t.Fatal(err)
	}
	flag := regexp.MustCompile(`--allow-(pub|sub) '([^']+)'`)
	text := NSC(users, "RINGMASTER")
	before, _, _ := strings.Cut(text, "\nnsc ")
	for line := range strings.Lines(before) {
		if !strings.HasPrefix(line, "# ") {
			t.Errorf("a shell would run %s", line)
		}
	}
	if !strings.Contains(before, "nsc add account --name RINGMASTER\n") {
		t.Errorf("it does not say how the account is made: %s", before)
	}
	commands := strings.Split(text, "\nnsc add user ")[1:]
	if len(commands) != len(users) {
		t.Fatalf("%d users", len(commands))
	}
	for i, command := range commands {
		var got, want []string
		for _, f := range flag.FindAllStringSubmatch(command, -1) {
			got = append(got, f[1]+" "+f[2])
		}
		for _, r := range Of(users[i].Kind, users[i].Scope) {
			if r.Publish {
				want = append(want, "pub "+r.Subject)
			}
			if r.Subscribe {
				want = append(want, "sub "+r.Subject)
			}
		}
		if !slices.Equal(got, want) || !strings.Contains(command, "--name '"+users[i].Name+"'") {
			t.Errorf("%s:\n%q, want\n%q", users[i].Name, got, want)
		}
	}
}

// docs/permissions.md has the table.
func TestTheDocumentationHasTheTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	want.WriteString("| subject | publish | subscribe | what for |\n|---|---|---|---|\n")
	for _, r := range table {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.subject, names(r.publish), names(r.subscribe), r.why)
	}
	if !strings.Contains(string(page), want.String()) {
		t.Errorf("the table of docs/permissions.md is not this one:\n%s", want.String())
	}
}

func names(u users) string {
	if u == everybody {
		return "everybody"
	}
	var list []string
	for _, k := range Kinds() {
		if u.has(k) {
			list = append(list, k.String())
		}
	}
	return strings.Join(list, ", ")
}
