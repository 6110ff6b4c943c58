package access

import (
	"slices"
	"strings"
)

// Act is one thing that a user may try: to publish on a subject, or to subscribe one.
type Act struct {
	Subject   string
	Subscribe bool   // else publish
	Allowed   bool   // the table lets the user do it
	Why       string // what goes over the subject
	// Translated is the name by which a server of the user's own JetStream domain refuses the
	// subject; every other one, and without a domain, uses Subject.
	Translated string
}

// Nobody is the name of the worker, queue, consumer and stream that acts are tried on
// where they need not be a user's own. Nothing may have that name.
const Nobody = "_authcheck"

// beyond are acts that no user needs, and some that are of one kind alone by their wildcards.
var beyond = []row{
	{"$JS.API.STREAM.DELETE.STORE_WORK", everybody, nobody, "removal of the stream of batches"},
	{"$JS.API.STREAM.DELETE.STORE_DECIDED", everybody, nobody, "removal of the stream of decisions"},
	{"$JS.API.STREAM.DELETE.KV_STORE_TUNER", everybody, nobody, "removal of the bucket of tuners"},
	{"$JS.API.STREAM.DELETE.KV_STORE_CONFIG", everybody, nobody, "removal of the bucket of shared settings"},
	{"$JS.API.STREAM.MSG.DELETE.STORE_WORK", everybody, nobody, "removal of one batch"},
	{"$JS.API.STREAM.MSG.GET.STORE_WORK", everybody, nobody, "reading of batches"},
	{"$JS.API.STREAM.SNAPSHOT.STORE_WORK", everybody, nobody, "copies of the stream of batches"},
	{"$JS.API.STREAM.CREATE." + Nobody, everybody, nobody, "streams of the user's own"},
	{"$JS.API.STREAM.NAMES", everybody, nobody, "names of all streams"},
	{"$JS.API.CONSUMER.CREATE.STORE_WORK", everybody, nobody, "consumers of all batches"},
	{"$JS.API.CONSUMER.CREATE.STORE_WORK.WORKER=QUEUE.PREFIX.work.WORKER.QUEUE", everybody, nobody, "a consumer of a queue's batches"},
	{"$JS.API.CONSUMER.MSG.NEXT.STORE_WORK.WORKER=QUEUE", everybody, nobody, "batches of a queue"},
	{"$JS.API.CONSUMER.DELETE.STORE_WORK.WORKER=QUEUE", everybody, nobody, "removal of a queue's consumer"},
	{"$SYS.REQ.SERVER.PING", everybody, nobody, "the server's own account"},
	{">", nobody, everybody, "everything"},
	{"PREFIX.>", nobody, everybody, "everything of this prefix"},
	{"PREFIX.work.>", nobody, everybody, "all batches"},
	{"PREFIX.heap.>", nobody, everybody, "all data of queues"},
	{InboxPrefix + ".>", nobody, everybody, "answers to everybody"},
	{"$JS.API.>", nobody, everybody, "requests to JetStream"},
}

// Acts are what to try in order to see whether a server gives a user its rights and no
// others: every act of the table, on the user's own names and on those of others. Subjects of
// requests that cannot be undone are among them, so it takes a message that does nothing where
// it is allowed: client.TryPublish sends one.
func Acts(kind Kind, scope Scope) (acts []Act) {
	rights := Of(kind, scope)
	seen := map[Act]bool{}
	add := func(a Act) {
		key := Act{Subject: a.Subject, Subscribe: a.Subscribe}
		if !seen[key] {
			seen[key] = true
			acts = append(acts, a)
		}
	}
	try := func(r row, scope Scope, kind Kind) {
		names := scope.subjects(kind, r.subject)
		subject, plain := names[len(names)-1], names[0]
		if r.publish != nobody {
			to := literal(subject)
			add(Act{Subject: to, Allowed: mayPublish(rights, to), Why: r.why, Translated: literal(plain)})
		}
		if r.subscribe != nobody {
			add(Act{Subject: subject, Subscribe: true, Allowed: maySubscribe(rights, subject), Why: r.why, Translated: plain})
		}
	}
	for _, r := range slices.Concat(table, beyond) {
		try(r, scope, kind)
		for _, names := range [][2]string{{scope.Worker, scope.Queue}, {scope.Worker, Nobody}, {Nobody, Nobody}} {
			other := scope
			other.Worker, other.Queue = names[0], names[1]
			try(r, other, Submitter) // one of the kinds that are for one queue
		}
	}
	return acts
}

// literal puts a name in the place of each wildcard.
func literal(subject string) string {
	return strings.NewReplacer("*", Nobody, ">", Nobody).Replace(subject)
}
