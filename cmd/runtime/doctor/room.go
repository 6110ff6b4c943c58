package doctor

import (
	"fmt"
	"strings"

	"ringmaster/telemetry/natsio"
)

const (
	// largest is the largest message of a stream: with less room than that, something is full.
	largest = 1 << 20
	// leastStream is what the largest of the streams is made with at least.
	leastStream = 16 << 20
	// nearly is a tenth: with less than that left, something is nearly full.
	nearly = 10
)

// Room says how much a server has left for the streams that are used, as it tells an account.
func Room(r *natsio.Report) (found []Finding) {
	add := func(missing bool, format string, args ...any) {
		found = append(found, Finding{missing, fmt.Sprintf(format, args...)})
	}
	account(&r.Account, r.Absent, add)
	for _, s := range r.Streams {
		left := s.MaxBytes - min(s.Bytes, s.MaxBytes)
		switch {
		case s.MaxBytes == 0:
			add(false, "%s: %s", s.Name, size(s.Bytes))
		case !s.Refuses:
			add(false, "%s: %s of %s, then the oldest make room", s.Name, size(s.Bytes), size(s.MaxBytes))
		case left < largest:
			add(true, "%s is full, %s of %s: what is submitted is refused until batches end; `ringmaster top` says which queues are behind; more workers, or `nats stream edit %s --max-bytes`, help",
				s.Name, size(s.Bytes), size(s.MaxBytes), s.Name)
		case left < s.MaxBytes/nearly:
			add(false, "warning: %s is nearly full, %s of %s; when it is, what is submitted is refused: `ringmaster top` says which queues are behind", s.Name, size(s.Bytes), size(s.MaxBytes))
		default:
			add(false, "%s: %s of %s", s.Name, size(s.Bytes), size(s.MaxBytes))
		}
	}
	return found
}

// account says what the account's limits leave, and which of the streams cannot be made with it.
func account(a *natsio.Account, absent []string, add func(missing bool, format string, args ...any)) {
	const raise = "raise the account's limit, or remove what `nats stream report` lists and nobody needs"
	switch left := a.MaxStore - int64(min(a.Store, 1<<62)); {
	case a.MaxStore < 0:
		add(false, "room for streams: the account has no limit and stores %s; what the server has left, its operator sees with `nats server report jetstream`", size(a.Store))
	case left < largest:
		add(true, "the account is full, it stores %s of %s: the server refuses what is written to any stream; %s", size(a.Store), size(uint64(a.MaxStore)), raise)
	case left < a.MaxStore/nearly:
		add(false, "warning: the account is nearly full, it stores %s of %s; when it is, the server refuses what is written to any stream: %s", size(a.Store), size(uint64(a.MaxStore)), raise)
	default:
		add(false, "room for streams: the account stores %s of %s", size(a.Store), size(uint64(a.MaxStore)))
	}
	names := strings.Join(absent, ", ")
	if len(absent) > 0 && a.MaxStore >= 0 && a.Left() < leastStream {
		add(true, "%s cannot be made: the account's streams have been promised %s of %s; %s", names, size(max(a.Store, a.Reserved)), size(uint64(a.MaxStore)), raise)
	}
	if a.MaxStreams > 0 && a.MaxStreams-a.Streams < len(absent) {
		add(true, "the account has %d of %d streams, and %s are to be made; %s", a.Streams, a.MaxStreams, names, raise)
	}
}

// size is a number of bytes, for people.
func size(n uint64) string {
	switch {
	case n < 10<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 10<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}
