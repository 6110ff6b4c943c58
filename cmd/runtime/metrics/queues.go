package metrics

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/worker"
)

// Rest is the label of all queues that have no series of their own.
const Rest = "(rest)"

// row is what is shown of one queue.
type row struct {
	*actors.QueueStatus
	at      time.Time
	waiting uint64 // batches in the stream
}

// summing is what the rest shows of a family.
type summing uint8

const (
	grows   summing = iota // a counter: what queues of the rest did
	sums                   // the sum of the rest
	largest                // the largest of the rest
	left                   // nothing: a sum would mean nothing
)

// queueFamily is a family with a series for each queue. A queue of which it is not known has none: of is then NaN.
type queueFamily struct {
	family
	rest summing
	of   func(*row) float64
}

func queueCounter(name, help string, of func(*actors.Counts) float64) queueFamily {
	return queueFamily{counterOf("ringmaster_queue_"+name, help, "worker", "queue"), grows, func(r *row) float64 { return of(&r.Counts) }}
}

func queueGauge(name, help string, rest summing, of func(*row) float64) queueFamily {
	return queueFamily{gaugeOf("ringmaster_queue_"+name, help, "worker", "queue"), rest, of}
}

var queueFamilies = []queueFamily{
	queueCounter("records_total", "Records of the queue that were taken.", func(n *actors.Counts) float64 { return float64(n.Records) }),
	queueCounter("decisions_total", "Decisions for the queue.", func(n *actors.Counts) float64 { return float64(n.Decisions) }),
	queueCounter("changed_total", "Decisions whose plan launches something else than the plan before.", func(n *actors.Counts) float64 { return float64(n.PlansChanged) }),
	queueCounter("held_total", "Decisions in which hysteresis kept the topology.", func(n *actors.Counts) float64 { return float64(n.SwitchesHeld) }),
	queueCounter("launches_total", "Launches of the queue.", func(n *actors.Counts) float64 { return float64(n.Launches) }),
	queueCounter("failed_launches_total", "Launches among them that failed.", func(n *actors.Counts) float64 { return float64(n.FailedLaunches) }),
	queueCounter("executed_slots_total", "Slots of the queue that were executed.", func(n *actors.Counts) float64 { return float64(n.SlotsExecuted) }),
	queueCounter("faulted_slots_total", "Slots of the queue that ended in a fault.", func(n *actors.Counts) float64 { return float64(n.SlotsFaulted) }),
	queueCounter("device_seconds_total", "For how long launches of the queue had the device; its rate is the queue's share of the device.", func(n *actors.Counts) float64 { return float64(n.DeviceNs) / 1e9 }),

	queueGauge("pending_slots", "Slots that were taken and are not finished.", sums, func(r *row) float64 { return float64(r.SlotsPending) }),
	queueGauge("stored_batches", "Batches in the stream, those in hand among them.", sums, func(r *row) float64 { return float64(r.waiting) }),
	queueGauge("input_age_seconds", "Since the newest record of any kind was taken in.", largest, func(r *row) float64 { return age(r.at, r.HeardAt) }),
	queueGauge("plan_age_seconds", "Since the newest decision was made.", largest, func(r *row) float64 { return age(r.at, r.DecidedAt) }),
	queueGauge("stopped", "1 while nothing is launched, after panics or failed launches.", sums, func(r *row) float64 { return one(r.Stopped || r.Halted) }),
	queueGauge("recommended_width", "Invocations of a workgroup, as recommended.", left, recommended(func(r *row) uint32 { return r.Recommendation.WorkgroupSizeX })),
	queueGauge("recommended_workgroups", "Workgroups of a launch, as recommended.", left, recommended(func(r *row) uint32 { return r.Recommendation.Groups })),
	queueGauge("launched_width", "Invocations of a workgroup in the launch that was reported last.", left, launched(func(r *row) uint32 { return r.Applied.WorkgroupSizeX })),
	queueGauge("launched_workgroups", "Workgroups of the launch that was reported last.", left, launched(func(r *row) uint32 { return r.Applied.Groups })),
}

func age(now, then time.Time) float64 {
	if then.IsZero() {
		return math.NaN()
	}
	return max(now.Sub(then), 0).Seconds()
}

func recommended(of func(*row) uint32) func(*row) float64 {
	return func(r *row) float64 {
		if !r.Decided || r.Recommendation.WorkgroupSizeX == 0 {
			return math.NaN()
		}
		return float64(of(r))
	}
}

func launched(of func(*row) uint32) func(*row) float64 {
	return func(r *row) float64 {
		if r.Applied.WorkgroupSizeX == 0 {
			return math.NaN()
		}
		return float64(of(r))
	}
}

// name names a queue.
type name struct{ worker, queue string }

func (r *row) name() name { return name{r.Worker, r.Queue} }

// selection chooses the queues that have series of their own, and sums the others up.
type selection struct {
	most  int
	shown map[name]bool      // by the last scrape, with series of their own
	seen  map[name][]float64 // values of the rest at the last scrape, by queueFamilies
	total []float64          // what the rest has counted, by queueFamilies; nil: there was no rest yet
}

func newSelection(most int) *selection {
	return &selection{most: max(most, 0)}
}

// send sends the series of all queues.
func (s *selection) send(to chan<- prometheus.Metric, r *worker.Reading) {
	rows := make([]row, len(r.Queues))
	for i := range r.Queues {
		rows[i] = row{QueueStatus: &r.Queues[i], at: r.At}
		if rows[i].Worker == r.Worker {
			rows[i].waiting = r.Waiting[rows[i].Queue]
		}
	}
	before := s.shown
	shown, rest := s.choose(rows)
	for i := range shown {
		for f := range queueFamilies {
			if value := queueFamilies[f].of(&shown[i]); !math.IsNaN(value) {
				queueFamilies[f].send(to, value, shown[i].Worker, shown[i].Queue)
			}
		}
	}
	s.sum(to, rest, before)
}

// choose gives series to those that are stopped, then to those that had most to do. Whoever has series keeps them until
// another has had twice as much to do.
func (s *selection) choose(rows []row) (shown, rest []row) {
	weight := func(r *row) float64 {
		if r.Stopped || r.Halted {
			return math.Inf(1)
		}
		w := float64(r.Records + r.Launches + r.Counts.Decisions)
		if s.shown[r.name()] {
			w *= 2
		}
		return w
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(weight(&b), weight(&a)) })
	shown, rest = rows[:min(s.most, len(rows))], rows[min(s.most, len(rows)):]
	s.shown = make(map[name]bool, len(shown))
	for i := range shown {
		s.shown[shown[i].name()] = true
	}
	return shown, rest
}

// sum sends the series of the rest, once there was one. A queue that had series of its own at the last scrape begins to
// count for the rest now.
func (s *selection) sum(to chan<- prometheus.Metric, rest []row, shown map[name]bool) {
	if s.total == nil && len(rest) == 0 {
		return
	}
	if s.total == nil {
		s.total = make([]float64, len(queueFamilies))
	}
	seen := make(map[name][]float64, len(rest))
	gauges := make([]float64, len(queueFamilies))
	for i := range rest {
		now, before := make([]float64, len(queueFamilies)), s.seen[rest[i].name()]
		for f := range queueFamilies {
			now[f] = queueFamilies[f].of(&rest[i])
			switch value := now[f]; {
			case math.IsNaN(value):
			case queueFamilies[f].rest == sums:
				gauges[f] += value
			case queueFamilies[f].rest == largest:
				gauges[f] = max(gauges[f], value)
			case queueFamilies[f].rest == left || shown[rest[i].name()]:
			case before != nil && value >= before[f]:
				s.total[f] += value - before[f]
			default: // a queue that is new, or was forgotten meanwhile
				s.total[f] += value
			}
		}
		seen[rest[i].name()] = now
	}
	s.seen = seen
	for f := range queueFamilies {
		switch queueFamilies[f].rest {
		case grows:
			queueFamilies[f].send(to, s.total[f], Rest, Rest)
		case sums, largest:
			queueFamilies[f].send(to, gauges[f], Rest, Rest)
		}
	}
}
