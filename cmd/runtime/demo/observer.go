package demo

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
)

// observer is the demo's subscriber: it sees only what any subscriber sees.
type observer struct {
	mu              sync.Mutex
	newest          map[string]telemetry.Recommendation
	recommendations uint64
	topologies      map[string]uint64
	geometries      map[string]uint64 // launches by applied width×groups×chunk
	exact           uint64            // launches that ran as recommended
	adjusted        map[string]uint64 // launches that did not, by the reason reported
	answer          *hdrhistogram.Histogram
	done            *hdrhistogram.Histogram
}

// newHistogram covers a microsecond to a minute with three digits.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, 60_000_000, 3) }

func newObserver() *observer {
	return &observer{
		newest:     map[string]telemetry.Recommendation{},
		topologies: map[string]uint64{}, geometries: map[string]uint64{}, adjusted: map[string]uint64{},
		answer: newHistogram(), done: newHistogram(),
	}
}

func (o *observer) subscribe(conn *natsio.Conn) error {
	if _, err := conn.SubscribeRecommendations("*", "*", o.onRecommendation); err != nil {
		return err
	}
	if _, err := conn.SubscribeDone("*", "*", o.onDone); err != nil {
		return err
	}
	_, err := conn.SubscribeLaunches("*", "*", o.onLaunch)
	return err
}

func (o *observer) onRecommendation(_, queue string, _ *telemetry.Header, r *telemetry.Recommendation) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.newest[queue] = *r
	if r.Heartbeat {
		return
	}
	o.recommendations++
	if r.Error == "" {
		o.topologies[r.Topology]++
	}
	if r.AnsweredSentNs > 0 {
		o.answer.RecordValue(sinceMicros(r.AnsweredSentNs))
	}
}

func (o *observer) onDone(_, _ string, _ *telemetry.Header, d *telemetry.Done) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done.RecordValue(sinceMicros(d.WorkSentNs))
}

func (o *observer) onLaunch(_, _ string, _ *telemetry.Header, l *telemetry.Launch) {
	if l.Status != telemetry.LaunchOK {
		return
	}
	g := l.Applied
	o.mu.Lock()
	defer o.mu.Unlock()
	shape := "resident kernel"
	if g.WorkgroupSizeX > 0 {
		shape = fmt.Sprintf("%d×%d×%d", g.WorkgroupSizeX, g.Groups, g.ClaimChunk)
	}
	o.geometries[shape]++
	if g == l.Recommended || l.Mode == telemetry.ModeLease { // a round has no geometry
		o.exact++
	} else {
		o.adjusted[adjustedBecause(l.NotApplied)]++
	}
}

func (o *observer) latest(queue string) (telemetry.Recommendation, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r, ok := o.newest[queue]
	return r, ok
}

// sinceMicros is the age of a timestamp of this machine's clock, at least 1 µs.
func sinceMicros(sentNs int64) int64 {
	return max(1, (time.Now().UnixNano()-sentNs)/1000)
}

// adjustedBecause reduces the reason why a launch was not as recommended to its kind: it
// leaves out the name of the kernel, of which there may be many.
func adjustedBecause(reason string) string {
	if rest, ok := strings.CutPrefix(reason, "kernel "); ok {
		if _, why, ok := strings.Cut(rest, ": "); ok {
			return "kernel: " + why
		}
	}
	return reason
}
