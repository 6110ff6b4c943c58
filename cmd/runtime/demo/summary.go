package demo

import (
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"ringmaster/cmd/runtime/text"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Summary is what the demo reports. Latencies are in microseconds and come
// from the subscriber; counts of slots come from the publisher.
type Summary struct {
	Seconds          float64           `json:"seconds"`
	Device           string            `json:"device"`
	Records          uint64            `json:"records"`
	Folded           uint64            `json:"folded"`
	Refused          uint64            `json:"refused"`
	Decisions        uint64            `json:"decisions"`
	Recommendations  uint64            `json:"recommendations"`
	Launches         uint64            `json:"launches"`
	LaunchesFailed   uint64            `json:"launches_failed"`
	LaunchesExact    uint64            `json:"launches_as_recommended"`
	LaunchesAdjusted map[string]uint64 `json:"launches_adjusted"` // by reason
	SlotsSubmitted   uint64            `json:"slots_submitted"`
	SlotsExecuted    uint64            `json:"slots_executed"`
	SlotsFaulted     uint64            `json:"slots_faulted"`
	Topologies       []string          `json:"topologies"`
	TopologyCounts   map[string]uint64 `json:"topology_counts"`
	TopologySwitches uint64            `json:"topology_switches"`
	SwitchesHeld     uint64            `json:"switches_held"`
	Publish          Quantiles         `json:"publish_to_recommendation_us"`
	Submit           Quantiles         `json:"submit_to_done_us"`
	Geometries       map[string]uint64 `json:"geometries"`
	TokensGenerated  uint64            `json:"tokens_generated"`
	TokensCounted    uint64            `json:"tokens_counted_on_device"`
	Comparison       *Comparison       `json:"comparison,omitempty"`
}

// Quantiles of a latency distribution, microseconds.
type Quantiles struct {
	P50 int64 `json:"p50"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func quantilesOf(h *hdrhistogram.Histogram) Quantiles {
	return Quantiles{P50: h.ValueAtQuantile(50), P99: h.ValueAtQuantile(99), Max: h.Max()}
}

// summarize adds up what the parts counted.
func (d *Demo) summarize(took time.Duration) Summary {
	stats := d.node.System().Stats()
	s := Summary{
		Seconds: took.Seconds(), Device: d.node.DeviceName(),
		Records: stats.Records, Folded: stats.Folded, Refused: d.node.Refused(),
		Decisions: stats.Decisions, Launches: stats.Launches, LaunchesFailed: stats.FailedLaunches,
		TopologySwitches: stats.TopologySwitches, SwitchesHeld: stats.SwitchesHeld,
	}
	for i := range d.player.queues {
		q := &d.player.queues[i]
		s.SlotsSubmitted += q.submitted.Load()
		s.SlotsExecuted += q.executed.Load()
		s.SlotsFaulted += q.faulted.Load()
	}
	s.TokensGenerated = d.player.queues[decode].submitted.Load() - d.player.queues[decode].intendedBad
	o := d.observer
	o.mu.Lock()
	defer o.mu.Unlock()
	s.Recommendations = o.recommendations
	s.LaunchesExact, s.LaunchesAdjusted = o.exact, maps.Clone(o.adjusted)
	s.TopologyCounts, s.Geometries = maps.Clone(o.topologies), maps.Clone(o.geometries)
	s.Topologies = slices.Sorted(maps.Keys(s.TopologyCounts))
	s.Publish, s.Submit = quantilesOf(o.answer), quantilesOf(o.done)
	return s
}

// wantTopologies is how many topologies the trace has to reach; fewer means
// that a signal does not move.
const wantTopologies = 3

// Problems lists what does not add up.
func (s *Summary) Problems() (list []string) {
	if s.SlotsSubmitted != s.SlotsExecuted+s.SlotsFaulted {
		list = append(list, fmt.Sprintf("%d slots submitted, but %d executed + %d faulted", s.SlotsSubmitted, s.SlotsExecuted, s.SlotsFaulted))
	}
	if uint32(s.TokensCounted) != uint32(s.TokensGenerated) {
		list = append(list, fmt.Sprintf("%d tokens generated, but the device counted %d", s.TokensGenerated, s.TokensCounted))
	}
	if n := s.LaunchesAdjusted[""]; n > 0 {
		list = append(list, fmt.Sprintf("%d launches ran at another geometry than recommended and do not say why", n))
	}
	if len(s.Topologies) < wantTopologies {
		list = append(list, fmt.Sprintf("only %d topologies seen (%s), the trace should reach %d", len(s.Topologies), strings.Join(s.Topologies, ", "), wantTopologies))
	}
	return list
}

// labeled is a line of the summary, wrapped behind its label.
func labeled(label, format string, args ...any) string {
	return text.Wrap(fmt.Sprintf("%-25s %s", label, fmt.Sprintf(format, args...)), 26, 80) + "\n"
}

// Text is the summary for people, without the comparison.
func (s *Summary) Text() string {
	var b strings.Builder
	line := func(label, format string, args ...any) { b.WriteString(labeled(label, format, args...)) }
	fmt.Fprintf(&b, "\n%.1f s on %s\n", s.Seconds, s.Device)
	line("records", "%s, %s folded into a later one, %s refused", text.Grouped(s.Records), text.Grouped(s.Folded), text.Grouped(s.Refused))
	line("decisions", "%s, %s recommendations received", text.Grouped(s.Decisions), text.Grouped(s.Recommendations))
	line("launches", "%s, %s failed; %s seen at exactly the recommended geometry, %s adjusted%s", text.Grouped(s.Launches), text.Grouped(s.LaunchesFailed),
		text.Grouped(s.LaunchesExact), text.Grouped(total(s.LaunchesAdjusted)), reasons(s.LaunchesAdjusted))
	line("slots", "%s submitted = %s executed + %s faulted", text.Grouped(s.SlotsSubmitted), text.Grouped(s.SlotsExecuted), text.Grouped(s.SlotsFaulted))
	line("tokens", "%s generated, %s counted on the device", text.Grouped(s.TokensGenerated), text.Grouped(s.TokensCounted))
	line("topologies", "%s", counts(s.TopologyCounts, len(s.TopologyCounts)))
	line("topology switches", "%s taken, %s held by hysteresis", text.Grouped(s.TopologySwitches), text.Grouped(s.SwitchesHeld))
	line("publish → recommendation", "p50 %s µs, p99 %s µs", text.Grouped(s.Publish.P50), text.Grouped(s.Publish.P99))
	line("submit → done", "p50 %s µs, p99 %s µs", text.Grouped(s.Submit.P50), text.Grouped(s.Submit.P99))
	line("width × groups × chunk", "%s", counts(s.Geometries, 6))
	return b.String()
}

// counts prints the most frequent keys with their shares.
func counts(m map[string]uint64, most int) string {
	keys := slices.Collect(maps.Keys(m))
	sort.Slice(keys, func(i, j int) bool {
		if m[keys[i]] != m[keys[j]] {
			return m[keys[i]] > m[keys[j]]
		}
		return keys[i] < keys[j]
	})
	var parts []string
	for i, k := range keys {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(keys)-most))
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.1f%%", k, 100*float64(m[k])/float64(total(m))))
	}
	return strings.Join(parts, ", ")
}

func total(m map[string]uint64) (sum uint64) {
	for _, n := range m {
		sum += n
	}
	return sum
}

// reasons lists the keys of a count in parentheses, or nothing.
func reasons(m map[string]uint64) string {
	if len(m) == 0 {
		return ""
	}
	return " (" + strings.Join(slices.Sorted(maps.Keys(m)), "; ") + ")"
}
