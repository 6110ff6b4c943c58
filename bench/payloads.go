package main

import (
	"fmt"
	"slices"
	"time"

	"ringmaster/telemetry"
)

// content says what the records of a flood carry.
type content uint8

const (
	// fullRecords carry every field of a queue record. A Publisher that was given all
	// of them sends such records: it repeats what it knows in each record.
	fullRecords content = iota
	// deltaRecords carry four fields that change, the least that other publishers
	// send: half the bytes, and as much to decide on.
	deltaRecords
)

// kind is records of some content in some encoding, and the end of the name of their rows.
type kind struct {
	suffix   string
	content  content
	encoding telemetry.Encoding
}

// payload is one encoded message and the queue token it goes to.
type payload struct {
	queue string
	bytes []byte
}

// payloads encodes queue records of all queues in turn and with the
// given number in each payload. This happens before the clock starts, because the
// cost of encoding would make any ratio look better. All payloads share one piece of
// memory that is used again, so that neither side pays for collecting it.
type payloads struct {
	list  []payload
	arena []byte
}

// maxBenchRecord is more than the size of the largest record of a benchmark in bytes.
const maxBenchRecord = 384

func (p *payloads) encode(of kind, perPayload int) {
	incarnation, sent := telemetry.NewIncarnation(), time.Now().UnixNano()
	p.list, p.arena = p.list[:0], slices.Grow(p.arena[:0], streamRecords*maxBenchRecord)
	for record := 0; record < streamRecords; {
		from := len(p.arena)
		next := payload{queue: telemetry.BatchQueue}
		for range perPayload {
			h := telemetry.Header{Incarnation: incarnation, Seq: uint64(1 + record/streamQueues), SentNs: sent + int64(record)}
			queue := benchQueues[record%streamQueues]
			if perPayload > 1 {
				h.Queue = queue
			} else {
				next.queue = queue
			}
			q := benchRecord(of.content, record)
			if record < streamQueues {
				takeOver(&q)
			}
			p.arena = telemetry.Append(p.arena, of.encoding, h, &q)
			record++
		}
		next.bytes = p.arena[from:len(p.arena):len(p.arena)]
		p.list = append(p.list, next)
	}
}

// meanBytes is the size of a record of the last encode.
func (p *payloads) meanBytes() int { return (len(p.arena) + streamRecords/2) / streamRecords }

// takeOver has the record replace the publisher of an earlier round, which is still live.
func takeOver(q *telemetry.Queue) {
	q.Has |= telemetry.HasQueueTakeOver
	q.TakeOver = true
}

// benchRecord is what a queue reports in its turn: lengths go up and down,
// counters grow.
func benchRecord(what content, record int) telemetry.Queue {
	length := uint32(1000 + record%50_000)
	if what == deltaRecords {
		return telemetry.Queue{
			Has:      telemetry.HasQueueLen | telemetry.HasExpectedHitsPerItem | telemetry.HasHotOpcodeCount | telemetry.HasMaxPriorityAge,
			QueueLen: length, ExpectedHitsPerItem: 1, HotOpcodeCount: 3, MaxPriorityAge: 5,
		}
	}
	turn := uint64(record / streamQueues)
	return telemetry.Queue{
		Has: telemetry.HasAllQueue &^ (telemetry.HasQueueTakeOver | telemetry.HasLatencyTargetMs), QueueLen: length, RequestedWorkerGroups: 256,
		MaxWorkgroupSizeX: 1024, MaxWorkgroupsPerDimension: 65_535, MaxInvocationsPerWorkgroup: 1024,
		RequestedHitCapacity: 65_536, ExpectedHitsPerItem: 1, HotOpcodeCount: 3, HotWindowCount: 2, MaxPriorityAge: 5,
		RequeueCount: 40*turn + uint64(record%7), ExecutedCount: 4096 * turn,
	}
}

var benchQueues = func() (names [streamQueues]string) {
	for i := range names {
		names[i] = fmt.Sprintf("q%d", i)
	}
	return names
}()
