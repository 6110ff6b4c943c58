package access

import (
	"cmp"
	"fmt"
	"strings"

	"ringmaster/telemetry"
)

// Kind is a kind of user.
type Kind uint8

// Kinds of users.
const (
	Worker     Kind = iota // runs the batches of one worker's queues, and decides for that worker
	Decider                // decides for workers elsewhere, without a device
	Publisher              // reports the load of queues
	Submitter              // sends work to queues, with its data, and learns what became of it
	Subscriber             // follows the recommendations for queues
	Operator               // looks at everything, withdraws batches and sees to the streams
	lastKind   = Operator
)

var kindNames = [...]string{"worker", "decider", "publisher", "submitter", "subscriber", "operator"}

// String returns the kind in one word.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// Kinds are all kinds, in the order of the documentation.
func Kinds() (all []Kind) {
	for k := range lastKind + 1 {
		all = append(all, k)
	}
	return all
}

// ParseKind finds a kind by its name.
func ParseKind(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.String() == name {
			return k, nil
		}
	}
	return 0, fmt.Errorf("no kind of user %q; there are %s", name, strings.Join(kindNames[:], ", "))
}

// Scope is what a user is for. Names are valid tokens, or "*" for all.
type Scope struct {
	Subjects telemetry.Subjects
	Worker   string // nothing to a decider or an operator, which are for all; telemetry.Pool of a pool to a submitter
	Pool     string // that a worker takes work of, or ""
	Queue    string // nothing to a worker either, which has all queues of its name
	Inbox    string // prefix of the user's own inboxes; "" means InboxPrefix, which users share
	Domain   string // JetStream domain through which the user reaches the streams, or ""
}

// InboxPrefix begins the inboxes of users that have no prefix of their own. Answers go to no
// other subjects, so a prefix of a user's own begins with it too.
const InboxPrefix = "_INBOX"

// Right is one subject that a user may publish, subscribe, or both.
type Right struct {
	Subject            string
	Publish, Subscribe bool
	Why                string // what goes over the subject
}

// Of returns the rights of a user, in the order of the table.
func Of(kind Kind, scope Scope) (rights []Right) {
	for _, r := range table {
		if !r.publish.has(kind) && !r.subscribe.has(kind) {
			continue
		}
		if strings.Contains(r.subject, "POOL") && scope.Pool == "" {
			continue
		}
		for _, subject := range scope.subjects(kind, r.subject) {
			rights = append(rights, Right{Subject: subject, Publish: r.publish.has(kind), Subscribe: r.subscribe.has(kind), Why: r.why})
		}
	}
	return rights
}

// subjects puts what a user of a kind is for in the places of a subject of the table. With a
// domain, subjects of JetStream have two names, of which the domain's is the last: a server of that domain itself translates the
// domain's into the plain one before it looks at permissions, and every other one does not.
func (s Scope) subjects(kind Kind, subject string) []string {
	worker, queue := s.Worker, s.Queue
	switch kind {
	case Worker:
		queue = "*"
	case Decider, Operator:
		worker, queue = "*", "*"
	}
	inbox := s.Inbox
	if inbox == "" {
		inbox = InboxPrefix
	}
	plain := strings.NewReplacer("PREFIX", s.Subjects.Root(), "POOL", cmp.Or(s.Pool, Nobody), "WORKER", worker, "QUEUE", queue, "OWN", inbox, "STORE", s.Subjects.Store()).Replace(subject)
	api, ofAPI := strings.CutPrefix(plain, "$JS.API.")
	switch {
	case s.Domain != "" && ofAPI:
		return []string{plain, "$JS." + s.Domain + ".API." + api}
	case s.Domain != "" && strings.HasPrefix(plain, "$KV."):
		return []string{plain, "$JS." + s.Domain + ".API." + plain}
	}
	return []string{plain}
}

// mayPublish reports whether rights allow to publish on a subject.
func mayPublish(rights []Right, subject string) bool {
	return allow(rights, subject, func(r *Right) bool { return r.Publish })
}

// maySubscribe reports whether rights allow to subscribe a subject, which may have wildcards.
func maySubscribe(rights []Right, subject string) bool {
	return allow(rights, subject, func(r *Right) bool { return r.Subscribe })
}

func allow(rights []Right, subject string, of func(*Right) bool) bool {
	for i := range rights {
		if of(&rights[i]) && covers(rights[i].Subject, subject) {
			return true
		}
	}
	return false
}

// covers reports whether every subject that the second names is one that the first names.
func covers(pattern, subject string) bool {
	for {
		p, restOfPattern, more := strings.Cut(pattern, ".")
		s, restOfSubject, longer := strings.Cut(subject, ".")
		switch {
		case p == ">":
			return true
		case s == ">" || p != "*" && p != s || more != longer:
			return false
		case !more:
			return true
		}
		pattern, subject = restOfPattern, restOfSubject
	}
}
