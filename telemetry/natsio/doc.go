// Package natsio is the connection to NATS and a runtime's side of it. It carries
// records between subjects and the interfaces it declares, and decides nothing.
//
//	telemetry.*.*, worker.*  → Conn.Serve       → Sink.Ingest, Sink.Announce
//	snapshot.*.*             → Conn.Serve       → Sink.Latest, answered in place
//	work.<worker>.>          → Conn.ConsumeWork → WorkHandler → acknowledgement
//	Outlet                   → recommend, telemetry (reports), worker, done
//	whatever was refused     → rejected.<worker>.<queue> or rejected.invalid
//
// Those are a runtime's. What a program does that owns queues is in package client.
//
// # Guarantees
//
// Order: the records of one subject reach the sink in the order in which the
// server had them: there is one goroutine per subscription.
//
// Of several runtimes on a bus one answers for a worker; see package ownership.
//
// Telemetry and recommendations are at most once: they describe a state, and
// the next one replaces what was lost. While the server is away they are
// dropped and counted, so that it does not get a burst of old news afterwards.
// A client.Publisher instead keeps the newest state of each of its queues and tells it
// when the server is back.
//
// Work is at least once: a batch lives in a JetStream stream until it was
// acknowledged, which happens after its done record is known to be with the
// server. The stream drops a batch id that it has seen in the last two minutes;
// older repetitions are the handler's to recognise. A batch that finds no room now is
// held and handed over again. A queue that is over its quota, or stopped, may take no
// more than half of all that can be held.
//
// The loss of a connection is not an error: it is logged once, visible in
// Conn.Status, and retried for ever with a growing, jittered pause. Only Close ends a
// connection, or a server that closes it for a protocol error.
//
// # Hostile input
//
// Every payload passes telemetry.Check before anything is decoded and every
// record telemetry.Decoder's ranges. A record is refused alone; those before
// and after it in the payload go on. Requests are answered below configured prefixes of
// inboxes only, discovery ($SRV.>) too, so that nobody can make this process publish on a
// subject that only it may write.
//
// Refusals are reported through a token bucket for each queue, so that one
// hostile publisher does not hide the mistakes of others; a record that came as a request
// is answered with its refusal under the same bound.
//
// A bucket for each worker name bounds what is taken at all. It decides
// from the subject alone, so that a payload above the rate costs less than its
// own bytes, and refuses with ReasonRateLimited. A worker name is who the
// server's permissions let publish under it: publishers of one name share its
// bucket, those of other names are not touched. While a bucket is empty, each
// queue of the worker is heard once in 100 ms, so that a publisher that sends
// no more often keeps its newest value known, whatever its siblings do.
// Publishers of one queue share that turn, because nothing tells them apart before
// their payloads are read. A publisher that was refused should send its newest value
// again: the buckets keep nothing for later.
//
// Names are kept for a bounded number of workers. Above it, new names share
// 64 buckets until others have been idle.
//
// To read the package: conn.go and events.go (the connection, and what it says of itself), streams.go
// (what is stored), ingest.go, intake.go and meter.go (the way of telemetry in), reject.go (what becomes
// of what is refused), outlet.go and outbox.go (the way out), work.go, work_queues.go and batch.go (the way
// of a batch), pool.go and results.go (what workers share), requests.go, services.go and graph.go (what is
// answered), then the rest.
package natsio
