package access

import (
	"fmt"
	"slices"
	"strings"

	"ringmaster/telemetry"
)

// User is one user of a server.
type User struct {
	Name  string
	Kind  Kind
	Scope Scope
	NKey  string // public key; "" for a password, which the server reads from Variable
}

// Variable is the environment variable from which a server takes the user's password. A
// server does not start while it is not set.
func (u *User) Variable() string {
	return "RINGMASTER_" + strings.ToUpper(strings.ReplaceAll(u.Name, "-", "_"))
}

// Fleet says for whom users are made. The zero value but for Workers is usable.
type Fleet struct {
	Subjects       telemetry.Subjects
	Workers        []string
	Queues         []string // of each worker; none: its users have all of its queues
	Pool           string   // that all the workers take work of, with a submitter for each queue; "" for none
	Domain         string   // JetStream domain through which users reach the streams
	PrivateInboxes bool     // each user has a prefix of inboxes of its own, InboxPrefix and its name
}

// Users are one decider, one operator and, for each worker, one of every other kind; those
// of the clients are one for each queue. The error names what cannot be a name, or two
// users that would have one variable for their passwords.
func (f *Fleet) Users() (users []User, err error) {
	add := func(kind Kind, names ...string) {
		name := strings.ReplaceAll(strings.Join(append([]string{kind.String()}, names...), "-"), ".", "-") // pool.gpus has a dot
		u := User{Name: name, Kind: kind, Scope: Scope{Subjects: f.Subjects, Worker: "*", Queue: "*", Domain: f.Domain}}
		if len(names) > 0 {
			u.Scope.Worker = names[0]
		}
		if kind == Worker {
			u.Scope.Pool = f.Pool
		}
		if len(names) > 1 {
			u.Scope.Queue = names[1]
		}
		if f.PrivateInboxes {
			u.Scope.Inbox = InboxPrefix + "." + u.Name
		}
		users = append(users, u)
	}
	each := func(kind Kind, worker string) {
		for _, queue := range f.Queues {
			add(kind, worker, queue)
		}
		if len(f.Queues) == 0 {
			add(kind, worker)
		}
	}
	add(Decider)
	add(Operator)
	for _, worker := range f.Workers {
		add(Worker, worker)
		for _, kind := range []Kind{Publisher, Submitter, Subscriber} {
			each(kind, worker)
		}
	}
	if f.Pool != "" {
		each(Submitter, telemetry.Pool(f.Pool))
	}
	return users, f.check(users)
}

func (f *Fleet) check(users []User) error {
	names := slices.Concat(f.Workers, f.Queues)
	if f.Pool != "" {
		names = append(names, f.Pool)
	}
	for _, name := range names {
		if !telemetry.ValidToken(name) {
			return fmt.Errorf("name %q: use 1 to %d letters, digits, _ or -", name, telemetry.MaxToken)
		}
	}
	if p := f.Subjects.Prefix; p != "" && !telemetry.ValidPrefix(p) {
		return fmt.Errorf("prefix %q is not tokens of [A-Za-z0-9_-] with dots between them", p)
	}
	if f.Domain != "" && !telemetry.ValidToken(f.Domain) {
		return fmt.Errorf("domain %q: use letters, digits, _ or -", f.Domain)
	}
	seen := map[string]string{}
	for i := range users {
		variable := users[i].Variable()
		if other := seen[variable]; other != "" {
			return fmt.Errorf("users %s and %s would share the password of %s; print them one at a time", other, users[i].Name, variable)
		}
		seen[variable] = users[i].Name
	}
	return nil
}

// Conf is an authorization block for the configuration of a nats-server. Passwords are
// not in it: the server reads them from its environment, and does not start without.
func Conf(users []User) string {
	var b strings.Builder
	b.WriteString("authorization { users = [\n")
	for i := range users {
		u := &users[i]
		login := fmt.Sprintf("user: %s, password: $%s", u.Name, u.Variable())
		if u.NKey != "" {
			login = "nkey: " + u.NKey
		}
		fmt.Fprintf(&b, "  # %s\n  { %s, permissions: {\n", u.Name, login)
		rights := Of(u.Kind, u.Scope)
		writeList(&b, "publish", rights, func(r *Right) bool { return r.Publish })
		writeList(&b, "subscribe", rights, func(r *Right) bool { return r.Subscribe })
		b.WriteString("  } }\n")
	}
	b.WriteString("] }\n")
	return b.String()
}

func writeList(b *strings.Builder, name string, rights []Right, of func(*Right) bool) {
	fmt.Fprintf(b, "    %s: { allow: [\n", name)
	for i := range rights {
		if of(&rights[i]) {
			fmt.Fprintf(b, "      %q # %s\n", rights[i].Subject, rights[i].Why)
		}
	}
	b.WriteString("    ] }\n")
}

// nscBefore is what the commands of NSC need beforehand, as comments: whoever has servers with JWTs has most of it.
const nscBefore = `# These need an operator and an account with JetStream. Where there is none yet:
#   nsc add operator --generate-signing-key --sys --name OPERATOR
#   nsc add account --name %[1]s
#   nsc edit account --name %[1]s --js-disk-storage -1 --js-mem-storage -1
# A worker's JWT has some 4 KB with these rights, and more with long names: servers need max_control_line: 16KB.
# Servers know the account by nsc generate config --nats-resolver, and what changes in it by nsc push.
`

// NSC is the same as commands of nsc, for servers whose users have JWTs.
func NSC(users []User, account string) string {
	var b strings.Builder
	fmt.Fprintf(&b, nscBefore, account)
	for i := range users {
		u := &users[i]
		fmt.Fprintf(&b, "nsc add user --account '%s' --name '%s'", account, u.Name)
		for _, r := range Of(u.Kind, u.Scope) {
			if r.Publish {
				fmt.Fprintf(&b, " \\\n  --allow-pub '%s'", r.Subject)
			}
			if r.Subscribe {
				fmt.Fprintf(&b, " \\\n  --allow-sub '%s'", r.Subject)
			}
		}
		fmt.Fprintf(&b, "\nnsc generate creds --account '%s' --name '%s' --output-file '%s.creds'\n", account, u.Name, u.Name)
	}
	return b.String()
}
