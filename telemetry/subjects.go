package telemetry

import (
	"fmt"
	"strings"
)

// DefaultPrefix begins every subject unless another prefix is configured. Its
// last token is the major version of the schema.
const DefaultPrefix = "ringmaster.v1"

// BatchQueue stands in the queue token of a telemetry subject whose payloads
// hold records of several queues, each naming its own. No queue has this name.
const BatchQueue = "_batch"

// Bounds of names.
const (
	MaxToken  = 64  // bytes of a worker, queue or batch name
	MaxPrefix = 128 // bytes of a subject prefix
)

// SubjectClass is the first token after the prefix: what a subject carries.
type SubjectClass uint8

// Classes of subjects.
const (
	SubjectInvalid SubjectClass = iota
	SubjectTelemetry
	SubjectWorker
	SubjectRecommend
	SubjectWork
	SubjectDone
	SubjectRejected
	SubjectRejectedInvalid // refused payloads whose worker or queue is unknown
	SubjectSnapshot
	SubjectHeap
	SubjectGraph
	SubjectCancel
	SubjectDecided

	lastClass = SubjectDecided
)

var classTokens = [...]string{
	SubjectInvalid:         "invalid",
	SubjectTelemetry:       "telemetry",
	SubjectWorker:          "worker",
	SubjectRecommend:       "recommend",
	SubjectWork:            "work",
	SubjectDone:            "done",
	SubjectRejected:        "rejected",
	SubjectRejectedInvalid: "rejected.invalid",
	SubjectSnapshot:        "snapshot",
	SubjectHeap:            "heap",
	SubjectGraph:           "graph",
	SubjectCancel:          "cancel",
	SubjectDecided:         "decided",
}

// String returns the subject tokens of the class.
func (c SubjectClass) String() string {
	if int(c) < len(classTokens) {
		return classTokens[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// Carries reports whether records of kind k belong on subjects of this class.
// A receiver refuses the others with ReasonWrongKind.
func (c SubjectClass) Carries(k Kind) bool {
	switch k {
	case KindQueue, KindGraph, KindPriority, KindLaunch:
		return c == SubjectTelemetry
	case KindRecommendation:
		return c == SubjectRecommend || c == SubjectSnapshot || c == SubjectDecided
	case KindRejected:
		return c == SubjectRejected || c == SubjectRejectedInvalid
	case KindWorker:
		return c == SubjectWorker
	case KindWork:
		return c == SubjectWork
	case KindDone:
		return c == SubjectDone
	case KindHeap:
		return c == SubjectHeap
	case KindGraphRequest:
		return c == SubjectGraph
	case KindCancel:
		return c == SubjectCancel
	}
	return false
}

// Subjects builds and parses the subjects under one prefix. The zero value
// uses DefaultPrefix. The builders do not validate their arguments, so that "*"
// makes a subscription; names from outside go through ValidToken first.
type Subjects struct {
	Prefix string // dotted tokens, see ValidPrefix; "" means DefaultPrefix
}

// Root is the prefix of all subjects.
func (s Subjects) Root() string {
	if s.Prefix == "" {
		return DefaultPrefix
	}
	return s.Prefix
}

// Shadow are the subjects of who decides beside those that act, from what comes on these.
func (s Subjects) Shadow() Subjects { return Subjects{Prefix: s.Root() + ".shadow"} }

// Store begins the names of the streams and buckets, which hold no dots. Version 1 is not
// part of it, so that the default prefix gives RINGMASTER.
func (s Subjects) Store() string {
	return strings.ToUpper(strings.ReplaceAll(strings.TrimSuffix(s.Root(), ".v1"), ".", "_"))
}

// of is the subject of a class, with the names of a worker and, unless it is empty, a queue.
func (s Subjects) of(class SubjectClass, worker, queue string) string {
	if queue == "" {
		return s.Root() + "." + classTokens[class] + "." + worker
	}
	return s.Root() + "." + classTokens[class] + "." + worker + "." + queue
}

// Telemetry is where queue, graph, priority and launch records come in.
func (s Subjects) Telemetry(worker, queue string) string {
	return s.of(SubjectTelemetry, worker, queue)
}

// Worker is where a worker announces itself.
func (s Subjects) Worker(worker string) string { return s.of(SubjectWorker, worker, "") }

// Recommend is where the recommendations for a queue go out.
func (s Subjects) Recommend(worker, queue string) string {
	return s.of(SubjectRecommend, worker, queue)
}

// Decided is where decisions for a queue are stored, from where they go out on Recommend.
func (s Subjects) Decided(worker, queue string) string { return s.of(SubjectDecided, worker, queue) }

// Policy is where the text of a policy configuration is stored under its name, for readers of decisions.
func (s Subjects) Policy(name string) string { return s.Root() + ".policy." + name }

// Work is where batches of slots for a queue come in.
func (s Subjects) Work(worker, queue string) string { return s.of(SubjectWork, worker, queue) }

// Queued is where a submitter says that the work stream has a batch for a queue, for a worker
// that does not consume the queue yet. Messages are empty.
func (s Subjects) Queued(worker, queue string) string {
	return s.Root() + ".queued." + worker + "." + queue
}

// Poison is where batches are kept that were delivered too often without an outcome.
func (s Subjects) Poison(worker, queue string) string {
	return s.Root() + ".poison." + worker + "." + queue
}

// Done is where finished batches go out.
func (s Subjects) Done(worker, queue string) string { return s.of(SubjectDone, worker, queue) }

// Rejected is where refusals of a queue's payloads go out.
func (s Subjects) Rejected(worker, queue string) string { return s.of(SubjectRejected, worker, queue) }

// RejectedInvalid is where refusals go whose worker or queue is unknown.
func (s Subjects) RejectedInvalid() string { return s.Root() + ".rejected.invalid" }

// Snapshot is the request subject that is answered with a queue's last
// recommendation.
func (s Subjects) Snapshot(worker, queue string) string { return s.of(SubjectSnapshot, worker, queue) }

// Heap is the request subject of transfers from and to a queue's window.
func (s Subjects) Heap(worker, queue string) string { return s.of(SubjectHeap, worker, queue) }

// Graph is the request subject of the graphs that a queue has on its worker's device.
func (s Subjects) Graph(worker, queue string) string { return s.of(SubjectGraph, worker, queue) }

// Cancel is the request subject that withdraws batches of a queue.
func (s Subjects) Cancel(worker, queue string) string { return s.of(SubjectCancel, worker, queue) }

// SubjectError says why a subject was refused. It does not repeat the subject,
// which may be hostile text.
type SubjectError struct {
	Reason string // ReasonBadSubject or ReasonBadToken
	Detail string // a sentence
}

// Error returns the reason and the detail.
func (e *SubjectError) Error() string { return "subject: " + e.Reason + ": " + e.Detail }

// The refusals of Parse are values: a flood of bad subjects allocates nothing.
var (
	errPrefix     = &SubjectError{ReasonBadSubject, "does not begin with the configured prefix"}
	errClass      = &SubjectError{ReasonBadSubject, "unknown class after the prefix"}
	errTokens     = &SubjectError{ReasonBadSubject, "wrong number of tokens for its class"}
	errWorker     = &SubjectError{ReasonBadToken, "worker is not 1..64 of [A-Za-z0-9_-]"}
	errPool       = &SubjectError{ReasonBadToken, "pool is not 1..64 of [A-Za-z0-9_-], with a queue behind it"}
	errQueue      = &SubjectError{ReasonBadToken, "queue is not 1..64 of [A-Za-z0-9_-]"}
	errBatchQueue = &SubjectError{ReasonBadToken, "queue _batch is for telemetry subjects only"}
)

// Parse splits a subject into its class, worker and queue; worker and queue
// are substrings of subject, empty where the class has none. In the place of the worker
// stands Pool's of a pool, where the class has pools. The error is a *SubjectError.
func (s Subjects) Parse(subject string) (class SubjectClass, worker, queue string, err error) {
	rest, ok := strings.CutPrefix(subject, s.Root())
	if !ok || rest == "" || rest[0] != '.' {
		return SubjectInvalid, "", "", errPrefix
	}
	token, rest, _ := strings.Cut(rest[1:], ".")
	class = classOf(token)
	if class == SubjectInvalid {
		return SubjectInvalid, "", "", errClass
	}
	if class == SubjectRejected && rest == "invalid" {
		return SubjectRejectedInvalid, "", "", nil
	}
	worker, queue, two := strings.Cut(rest, ".")
	if two == (class == SubjectWorker) {
		return SubjectInvalid, "", "", errTokens
	}
	if worker == poolToken && class.hasPools() {
		pool, inPool, is := strings.Cut(queue, ".")
		if !is || !ValidToken(pool) {
			return SubjectInvalid, "", "", errPool
		}
		worker, queue = rest[:len(poolToken)+1+len(pool)], inPool
	} else if !ValidToken(worker) {
		return SubjectInvalid, "", "", errWorker
	}
	if !two {
		return class, worker, "", nil
	}
	if !ValidToken(queue) {
		return SubjectInvalid, "", "", errQueue
	}
	if queue == BatchQueue && class != SubjectTelemetry {
		return SubjectInvalid, "", "", errBatchQueue
	}
	return class, worker, queue, nil
}

func classOf(token string) SubjectClass {
	for c := SubjectTelemetry; c <= lastClass; c++ {
		if c != SubjectRejectedInvalid && classTokens[c] == token {
			return c
		}
	}
	return SubjectInvalid
}

// poolToken stands in front of a pool's name. No worker has it for a name.
const poolToken = "pool"

// Pool is what stands in the place of a worker's name on the subjects of work that any worker of a pool may take:
// those of batches, done records, refusals, cancellations and batches set aside.
func Pool(name string) string { return poolToken + "." + name }

// PoolOf returns the name of the pool if what stands in the place of a worker's name is Pool's.
func PoolOf(taker string) (pool string, is bool) { return strings.CutPrefix(taker, poolToken+".") }

// ValidWorker reports whether s can name a worker: a token that does not begin the subjects of pools.
func ValidWorker(s string) bool { return ValidToken(s) && s != poolToken }

// ValidTaker reports whether s can stand in the place of who takes a batch: a worker's name, or Pool's of a token.
func ValidTaker(s string) bool {
	if pool, is := PoolOf(s); is {
		return ValidToken(pool)
	}
	return ValidWorker(s)
}

// hasPools reports whether subjects of the class may have a pool in the place of a worker.
func (c SubjectClass) hasPools() bool {
	switch c {
	case SubjectWork, SubjectDone, SubjectRejected, SubjectCancel:
		return true
	}
	return false
}

// ValidToken reports whether s can name a worker, a queue or a batch: 1 to 64
// bytes of [A-Za-z0-9_-], which excludes every character that NATS gives a
// meaning in a subject.
func ValidToken(s string) bool { return validToken(s) }

func validToken[S string | []byte](s S) bool {
	if len(s) == 0 || len(s) > MaxToken {
		return false
	}
	for i := range len(s) {
		if !tokenByte[s[i]] {
			return false
		}
	}
	return true
}

// ValidPrefix reports whether s can be the prefix of all subjects: tokens as
// in ValidToken separated by dots, at most MaxPrefix bytes.
func ValidPrefix(s string) bool {
	if len(s) > MaxPrefix {
		return false
	}
	for token := range strings.SplitSeq(s, ".") {
		if !ValidToken(token) {
			return false
		}
	}
	return true
}

var tokenByte = func() (t [256]bool) {
	for _, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") {
		t[c] = true
	}
	return t
}()
