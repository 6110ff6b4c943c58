package access

// users is a set of kinds.
type users uint8

const (
	worker     users = 1 << Worker
	decider    users = 1 << Decider
	publisher  users = 1 << Publisher
	submitter  users = 1 << Submitter
	subscriber users = 1 << Subscriber
	operator   users = 1 << Operator
	nobody     users = 0
	runtimes         = worker | decider
	everybody        = runtimes | publisher | submitter | subscriber | operator
)

func (u users) has(k Kind) bool { return u&(1<<k) != 0 }

// row is one subject, who may publish it, and who may subscribe it. In a subject stand
//
//	PREFIX         the prefix of all subjects
//	WORKER, QUEUE  the names that the user is for, or * where it is for all
//	POOL           the pool that a worker takes work of; without one the row is not the worker's
//	OWN            the prefix of the user's own inboxes
//	STORE          what the names of streams and buckets begin with
//
// and $JS.API for the API of JetStream, which has another name through a domain. A token
// cannot have a wildcard in it, so the names of consumers are open; what a consumer may
// be made for is bound by the subjects behind its name.
type row struct {
	subject            string
	publish, subscribe users
	why                string
}

// table has a row for each subject. Whoever uses a new one adds its row.
var table = []row{
	// What runtimes and their clients say to each other.
	{"PREFIX.telemetry.WORKER.QUEUE", worker | publisher, nobody, "load of queues, and reports of launches"},
	{"PREFIX.telemetry.>", nobody, runtimes | operator, "load of all queues"},
	{"PREFIX.worker.WORKER", worker | publisher, nobody, "announcements of a device"},
	{"PREFIX.worker.*", nobody, runtimes | operator, "announcements of all devices"},
	{"PREFIX.recommend.WORKER.QUEUE", runtimes, subscriber | operator, "recommendations"},
	{"PREFIX.snapshot.WORKER.QUEUE", subscriber | operator, nobody, "requests for the last recommendation"},
	{"PREFIX.snapshot.*.*", nobody, runtimes, "requests for last recommendations"},
	{"PREFIX.explain.WORKER.QUEUE", subscriber | operator, nobody, "requests for why a plan is as it is"},
	{"PREFIX.explain.*.*", nobody, runtimes, "requests for why plans are as they are"},
	{"PREFIX.state.WORKER", operator, runtimes, "requests for a process's queues, limits and ring"},
	{"PREFIX.config.WORKER", operator, runtimes, "requests for the settings that a process has"},
	{"PREFIX.drain.WORKER", operator, runtimes, "requests to finish what is held, and end"},
	{"PREFIX.advisory.*.WORKER", runtimes, nobody, "events for operators"},
	{"PREFIX.advisory.>", nobody, operator, "events for operators"},
	{"PREFIX.rejected.>", runtimes, operator, "refusals, of payloads without a name too"},
	{"PREFIX.rejected.WORKER.QUEUE", nobody, publisher | submitter, "refusals of a queue's payloads"},
	{"PREFIX.status", operator, runtimes, "requests for the status"},
	{"PREFIX.decider", decider, runtimes | operator, "who decides for all workers that nobody else decides for"},
	{"PREFIX.decider.WORKER", runtimes, nobody, "who decides for the worker"},
	{"PREFIX.decider.*", nobody, runtimes | operator, "who decides for which worker"},
	{"PREFIX.node.*", runtimes | operator, runtimes, "whether a node that decides is there"},
	{"$SRV.>", operator, runtimes, "discovery of services"},
	{"OWN.>", nobody, everybody, "answers to this user"},
	{"_INBOX.>", runtimes, nobody, "answers to anybody"},

	// Work and its data.
	{"PREFIX.work.WORKER.QUEUE", submitter | operator, nobody, "batches"},
	{"PREFIX.queued.WORKER.QUEUE", worker | submitter | operator, worker, "word of a batch in the stream"},
	{"PREFIX.done.WORKER.QUEUE", worker, submitter | operator, "what became of batches"},
	{"PREFIX.cancel.WORKER.QUEUE", submitter | operator, worker, "requests to withdraw a batch"},
	{"PREFIX.heap.WORKER.QUEUE", submitter, worker, "transfers from and to a queue's window"},
	{"PREFIX.graph.WORKER.QUEUE", submitter | operator, worker, "requests about a queue's graphs"},

	// A pool's work. A submitter to a pool has the rows of work above, with pool.POOL for a worker.
	{"PREFIX.work.pool.*.*", operator, nobody, "a pool's batches that are run again"},
	{"PREFIX.queued.pool.*.*", operator, nobody, "whether somebody takes a pool's batches"},
	{"PREFIX.queued.pool.POOL.*", nobody, worker, "word of a pool's batch in the stream"},
	{"PREFIX.done.pool.POOL.*", worker, nobody, "what became of a pool's batches"},
	{"PREFIX.cancel.pool.POOL.*", nobody, worker, "requests to withdraw a pool's batch"},
	{"PREFIX.poison.pool.POOL.*", worker, nobody, "a pool's batches that were set aside"},
	{"$JS.API.CONSUMER.CREATE.STORE_WORK.*.PREFIX.work.pool.POOL.*", worker, nobody, "a consumer for each queue of a pool"},

	// The stream of batches. Acknowledging removes batches, and so does purging.
	{"$JS.API.STREAM.INFO.STORE_WORK", worker | operator, nobody, "which queues have batches"},
	{"$JS.API.STREAM.CREATE.STORE_WORK", worker | operator, nobody, "the stream of batches"},
	{"$JS.API.STREAM.UPDATE.STORE_WORK", worker | operator, nobody, "its bounds and replicas"},
	{"$JS.API.STREAM.PURGE.STORE_WORK", worker | operator, nobody, "batches of no queue"},
	{"$JS.API.STREAM.MSG.GET.STORE_WORK", operator, nobody, "where a batch is"},
	{"$JS.API.CONSUMER.INFO.STORE_WORK.*", operator, nobody, "whether a batch was handed out"},
	{"$JS.API.CONSUMER.CREATE.STORE_WORK.*.PREFIX.work.WORKER.*", worker, nobody, "a consumer for each queue"},
	{"$JS.API.CONSUMER.MSG.NEXT.STORE_WORK.*", worker, nobody, "batches"},
	{"$JS.ACK.STORE_WORK.>", worker, nobody, "acknowledgements of batches"},

	// Batches set aside, and done records that are kept.
	{"PREFIX.poison.WORKER.QUEUE", worker, operator, "batches that were set aside"},
	{"$JS.API.STREAM.*.STORE_POISON", operator, nobody, "the stream of batches that were set aside"},
	{"$JS.API.STREAM.MSG.*.STORE_POISON", operator, nobody, "one of them, and its removal"},
	{"$JS.API.CONSUMER.CREATE.STORE_POISON.>", operator, nobody, "listing them"},
	{"$JS.API.CONSUMER.DELETE.STORE_POISON.>", operator, nobody, "the end of listing"},
	{"$JS.API.CONSUMER.MSG.NEXT.STORE_POISON.*", operator, nobody, "batches that were set aside"},
	{"$JS.API.STREAM.CREATE.STORE_POISON", worker, nobody, "the stream of batches that were set aside"},
	{"$JS.API.STREAM.UPDATE.STORE_POISON", worker, nobody, "its bounds and replicas"},
	{"$JS.API.STREAM.INFO.STORE_POISON", worker, nobody, "its bounds and replicas"},
	{"$JS.API.STREAM.CREATE.STORE_DONE", worker | operator, nobody, "the stream of done records"},
	{"$JS.API.STREAM.UPDATE.STORE_DONE", worker | operator, nobody, "its bounds and replicas"},
	{"$JS.API.STREAM.INFO.STORE_DONE", worker | operator, nobody, "its bounds and replicas"},
	{"$JS.API.CONSUMER.CREATE.STORE_DONE.*.PREFIX.done.WORKER.QUEUE", submitter | operator, nobody, "done records that were missed"},
	{"$JS.API.CONSUMER.CREATE.STORE_DONE.*.PREFIX.done.pool.*.*", operator, nobody, "what became of a pool's batch"},
	{"$JS.API.CONSUMER.MSG.NEXT.STORE_DONE.*", submitter | operator, nobody, "done records that were missed"},

	// Decisions.
	{"PREFIX.decided.WORKER.QUEUE", runtimes, operator, "decisions, by compare-and-set"},
	{"$JS.API.STREAM.CREATE.STORE_DECIDED", runtimes | operator, nobody, "the stream of decisions"},
	{"$JS.API.STREAM.UPDATE.STORE_DECIDED", runtimes | operator, nobody, "its bounds and replicas"},
	{"$JS.API.STREAM.INFO.STORE_DECIDED", runtimes | operator, nobody, "its bounds and replicas"},
	{"PREFIX.policy.*", runtimes, nobody, "the policies' configurations, beside the decisions"},
	{"$JS.API.STREAM.MSG.GET.STORE_DECIDED", runtimes | operator, nobody, "the last decision of a queue"},
	{"$JS.API.CONSUMER.CREATE.STORE_DECIDED.>", runtimes | operator, nobody, "reading decisions"},
	{"$JS.API.CONSUMER.DELETE.STORE_DECIDED.>", runtimes | operator, nobody, "the end of reading"},
	{"$JS.API.CONSUMER.MSG.NEXT.STORE_DECIDED.*", runtimes | operator, nobody, "decisions"},

	// What tuners learned, and graph files on their way.
	{"$JS.API.INFO", worker | operator, nobody, "whether the account has JetStream, and how much"},
	{"$JS.API.STREAM.CREATE.KV_STORE_TUNER", worker | operator, nobody, "the bucket of tuners"},
	{"$JS.API.STREAM.UPDATE.KV_STORE_TUNER", worker | operator, nobody, "its replicas"},
	{"$JS.API.STREAM.INFO.KV_STORE_TUNER", worker | operator, nobody, "its replicas and age"},
	{"$JS.API.DIRECT.GET.KV_STORE_TUNER.>", worker | operator, nobody, "results of a device"},
	{"$JS.API.CONSUMER.CREATE.KV_STORE_TUNER.>", worker | operator, nobody, "following the results"},
	{"$JS.API.CONSUMER.DELETE.KV_STORE_TUNER.>", worker | operator, nobody, "the end of following"},
	{"$JS.FC.KV_STORE_TUNER.>", worker | operator, nobody, "flow control"},
	{"$KV.STORE_TUNER.>", worker, nobody, "results"},
	{"$KV.STORE_TUNER.doctor", operator, nobody, "what doctor writes to try the server, and removes"},
	{"$JS.API.STREAM.CREATE.KV_STORE_CONFIG", operator, nobody, "the bucket of shared settings"},
	{"$JS.API.STREAM.INFO.KV_STORE_CONFIG", runtimes | operator, nobody, "the bucket of shared settings"},
	{"$JS.API.DIRECT.GET.KV_STORE_CONFIG.>", runtimes | operator, nobody, "shared settings"},
	{"$JS.API.DIRECT.GET.KV_STORE_CONFIG", operator, nobody, "older shared settings"},
	{"$KV.STORE_CONFIG.>", operator, nobody, "shared settings"},
	{"$JS.API.STREAM.INFO.OBJ_STORE_GRAPHS", worker | submitter | operator, nobody, "the bucket of graph files"},
	{"$JS.API.STREAM.CREATE.OBJ_STORE_GRAPHS", worker | operator, nobody, "the bucket of graph files"},
	{"$O.STORE_GRAPHS.>", worker | submitter, nobody, "graph files, and their removal"},
	{"$JS.API.STREAM.PURGE.OBJ_STORE_GRAPHS", worker, nobody, "graph files that were read"},
	{"$JS.API.DIRECT.GET.OBJ_STORE_GRAPHS.>", worker | submitter, nobody, "descriptions of graph files"},
	{"$JS.API.CONSUMER.CREATE.OBJ_STORE_GRAPHS.>", worker, nobody, "reading a graph file"},
	{"$JS.API.CONSUMER.DELETE.OBJ_STORE_GRAPHS.>", worker, nobody, "the end of reading"},
	{"$JS.FC.OBJ_STORE_GRAPHS.>", worker, nobody, "flow control"},
}
