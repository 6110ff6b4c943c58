package metrics

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"ringmaster/actors"
	"ringmaster/cmd/runtime/worker"
	"ringmaster/telemetry/natsio"
)

// family is the description of series of one name.
type family struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

func (f *family) send(to chan<- prometheus.Metric, value float64, labels ...string) {
	to <- prometheus.MustNewConstMetric(f.desc, f.kind, value, labels...)
}

func counterOf(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.CounterValue}
}

func gaugeOf(name, help string, labels ...string) family {
	return family{prometheus.NewDesc(name, help, labels, nil), prometheus.GaugeValue}
}

// single is a family of one series.
type single struct {
	family
	of func(*worker.Reading) float64
}

func counter(name, help string, of func(*worker.Reading) uint64) single {
	return single{counterOf(name, help), func(r *worker.Reading) float64 { return float64(of(r)) }}
}

func gauge(name, help string, of func(*worker.Reading) float64) single {
	return single{gaugeOf(name, help), of}
}

var families = []single{
	counter("ringmaster_telemetry_payloads_total", "Payloads of telemetry that were read.", func(r *worker.Reading) uint64 { return r.Ingest.Messages }),
	counter("ringmaster_telemetry_records_total", "Records that were taken.", func(r *worker.Reading) uint64 { return r.Records }),
	counter("ringmaster_telemetry_folded_records_total", "Records that a newer one of their queue joined before a decision was made.", func(r *worker.Reading) uint64 { return r.Folded }),
	counter("ringmaster_telemetry_dropped_payloads_total", "Payloads that were lost because this process was too slow.", func(r *worker.Reading) uint64 { return r.Ingest.Dropped }),

	counter("ringmaster_decisions_total", "Decisions that count.", func(r *worker.Reading) uint64 { return r.Counts.Decisions }),
	counter("ringmaster_decisions_changed_total", "Decisions whose plan launches something else than the queue's plan before.", func(r *worker.Reading) uint64 { return r.PlansChanged }),
	counter("ringmaster_decisions_switched_total", "Decisions that changed the topology.", func(r *worker.Reading) uint64 { return r.TopologySwitches }),
	counter("ringmaster_decisions_held_total", "Decisions in which hysteresis kept the topology.", func(r *worker.Reading) uint64 { return r.SwitchesHeld }),
	counter("ringmaster_decisions_conflicts_total", "Decisions in whose place the stream had another one (compare-and-set refused).", func(r *worker.Reading) uint64 { return r.DecisionsRefused }),
	counter("ringmaster_decisions_doubted_total", "Decisions of which the stream did not say in time whether it has them.", func(r *worker.Reading) uint64 { return r.DecisionsDoubted }),
	counter("ringmaster_decisions_alone_total", "Decisions that hold in this process only, as the stream was away.", func(r *worker.Reading) uint64 { return r.DecisionsAlone }),
	counter("ringmaster_decisions_taken_over_queues_total", "Times a queue was decided for here after another process had decided.", func(r *worker.Reading) uint64 { return r.TakeOvers }),
	counter("ringmaster_recommendations_published_total", "Recommendations that were published, without repetitions.", func(r *worker.Reading) uint64 { return r.Recommendations }),
	counter("ringmaster_recommendations_repeated_total", "Repetitions of recommendations.", func(r *worker.Reading) uint64 { return r.Heartbeats }),
	counter("ringmaster_recommendations_dropped_total", "Recommendations and reports that could not be sent.", func(r *worker.Reading) uint64 { return r.Outlet.NewsDropped }),

	counter("ringmaster_launches_total", "Launches that were reported, by this worker and by others.", func(r *worker.Reading) uint64 { return r.Launches }),
	counter("ringmaster_launches_failed_total", "Launches among them that failed.", func(r *worker.Reading) uint64 { return r.FailedLaunches }),
	counter("ringmaster_launches_untuned_total", "Reports of launches that were implausible and that no tuner measured by.", func(r *worker.Reading) uint64 { return r.ReportsUntuned }),
	counter("ringmaster_slots_submitted_total", "Slots that this worker took.", func(r *worker.Reading) uint64 { return r.SlotsSubmitted }),
	counter("ringmaster_slots_executed_total", "Slots that were executed.", func(r *worker.Reading) uint64 { return r.SlotsExecuted }),
	counter("ringmaster_slots_faulted_total", "Slots that ended in a fault.", func(r *worker.Reading) uint64 { return r.SlotsFaulted }),
	gauge("ringmaster_slots_pending", "Slots that were taken and are not finished.", func(r *worker.Reading) float64 { return float64(r.SlotsPending) }),

	gauge("ringmaster_queues_known", "Queues that are known.", func(r *worker.Reading) float64 { return float64(r.Stats.Queues) }),
	gauge("ringmaster_queues_stopped", "Queues that rest after repeated panics.", func(r *worker.Reading) float64 { return float64(r.QueuesStopped) }),
	gauge("ringmaster_queues_halted", "Queues that launch nothing after launches that failed in a row.", halted),
	gauge("ringmaster_workers_known", "Workers that are known.", func(r *worker.Reading) float64 { return float64(r.Workers) }),
	counter("ringmaster_actors_restarts_total", "Actors that were restarted after a panic.", func(r *worker.Reading) uint64 { return r.Restarts }),

	counter("ringmaster_batches_delivered_total", "Batches that were handed to the worker.", func(r *worker.Reading) uint64 { return work(r).Delivered }),
	counter("ringmaster_batches_redelivered_total", "Deliveries that were not the first of their batch.", func(r *worker.Reading) uint64 { return work(r).Redelivered }),
	counter("ringmaster_batches_unconfirmed_total", "Done records that the server did not confirm; their batches run again.", func(r *worker.Reading) uint64 { return r.Outlet.DoneFailed }),
	gauge("ringmaster_batches_in_hand", "Batches that the worker has and that have no outcome.", func(r *worker.Reading) float64 { return float64(work(r).Pending) }),
	gauge("ringmaster_batches_in_hand_bytes", "Memory that they take.", func(r *worker.Reading) float64 { return float64(work(r).Bytes) }),
	gauge("ringmaster_batches_waiting", "Batches of the worker in the stream that it has not taken yet (consumer lag).", func(r *worker.Reading) float64 { return float64(lag(work(r))) }),

	gauge("ringmaster_bus_connected", "1 while a NATS server answers.", func(r *worker.Reading) float64 { return one(r.Connection.State == natsio.StateConnected.String()) }),
	counter("ringmaster_bus_reconnects_total", "Connections after the first.", func(r *worker.Reading) uint64 { return r.Connection.Reconnects }),
	counter("ringmaster_bus_slow_consumers_total", "Times a subscription of this process dropped messages.", func(r *worker.Reading) uint64 { return r.Connection.SlowConsumers }),
	counter("ringmaster_bus_permission_errors_total", "Subjects that the server refused.", func(r *worker.Reading) uint64 { return r.Connection.PermissionErrors }),

	gauge("ringmaster_device_lost", "1 while the device is lost.", func(r *worker.Reading) float64 { return one(r.Ring != nil && !r.Ring.Lost.IsZero()) }),
	gauge("ringmaster_device_software", "1 if a software renderer runs the ring.", func(r *worker.Reading) float64 { return one(r.Software) }),
	gauge("ringmaster_ring_pages", "Pages of the ring, 0 without a device.", func(r *worker.Reading) float64 { return float64(ring(r).Pages) }),
	gauge("ringmaster_ring_free_pages", "Pages of the ring that no queue has.", func(r *worker.Reading) float64 { return float64(ring(r).FreePages) }),
	gauge("ringmaster_ring_launches_in_flight", "Launches under way.", func(r *worker.Reading) float64 { return float64(ring(r).InFlight) }),
	gauge("ringmaster_ring_kernels_building", "Kernels that are asked for and not built yet.", func(r *worker.Reading) float64 { return float64(ring(r).Building) }),
}

var (
	diskFree = gaugeOf("ringmaster_store_free_bytes", "Free space of the file system that has the embedded server's streams.")
	diskSize = gaugeOf("ringmaster_store_size_bytes", "Size of the file system that has the embedded server's streams.")
)

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func work(r *worker.Reading) natsio.WorkStats {
	if r.Work == nil {
		return natsio.WorkStats{}
	}
	return *r.Work
}

// lag is what waits in the stream: what it has, without what is in hand. The two are read at different moments.
func lag(w natsio.WorkStats) uint64 { return w.Stored - min(uint64(max(w.Pending, 0)), w.Stored) }

func ring(r *worker.Reading) worker.RingUse {
	if r.Ring == nil {
		return worker.RingUse{}
	}
	return *r.Ring
}

func halted(r *worker.Reading) (n float64) {
	for i := range r.Queues {
		n += one(r.Queues[i].Halted)
	}
	return n
}

// byLabel is a family with a series for each value of one label, of which there are few.
type byLabel struct {
	family
	of func(r *worker.Reading, send func(label string, value float64))
}

var labelled = []byLabel{
	{counterOf("ringmaster_records_refused_total", "Payloads, records and batches that were refused, by the edge or by the actors.", "reason"), refusals},
	{counterOf("ringmaster_batches_ended_total", "Deliveries of batches by how they ended. given_up: the batch was delivered too often, and is set aside; crowded: too many of its queue waited.", "outcome"), outcomes},
	{gaugeOf("ringmaster_queues_standing", "Queues by how their decisions count: see standing of the status.", "state"), standings},
	{gaugeOf("ringmaster_stream_messages", "Messages in a stream.", "stream"), streams(func(s natsio.StreamUse) (uint64, bool) { return s.Messages, true })},
	{gaugeOf("ringmaster_stream_bytes", "Bytes that a stream has.", "stream"), streams(func(s natsio.StreamUse) (uint64, bool) { return s.Bytes, true })},
	{gaugeOf("ringmaster_stream_limit_bytes", "Bytes that a stream may have.", "stream"), streams(func(s natsio.StreamUse) (uint64, bool) { return s.MaxBytes, s.MaxBytes > 0 })},
}

// maxReasons bounds the values of the label reason. There are some twenty; the rest is "other".
const maxReasons = 40

func refusals(r *worker.Reading, send func(string, float64)) {
	other := uint64(0)
	for i, reason := range slices.Sorted(maps.Keys(r.RefusedByReason)) {
		if n := r.RefusedByReason[reason]; i < maxReasons {
			send(reason, float64(n))
		} else {
			other += n
		}
	}
	if other > 0 {
		send("other", float64(other))
	}
}

func outcomes(r *worker.Reading, send func(string, float64)) {
	if r.Work == nil {
		return
	}
	w := r.Work
	send("done", float64(w.Done))
	send("duplicate", float64(w.Duplicates))
	send("given_back", float64(w.Retried))
	send("given_up", float64(w.GivenUp))
	send("crowded", float64(w.Crowded))
	send("refused", float64(w.Refused-min(w.GivenUp+w.Crowded, w.Refused)))
}

// standings tells of each state, so that one that ends is seen to end.
func standings(r *worker.Reading, send func(string, float64)) {
	for _, state := range []string{actors.StandsStored, actors.StandsBy, actors.StandsInDoubt, actors.StandsAlone} {
		send(state, float64(r.Standing[state]))
	}
}

func streams(of func(natsio.StreamUse) (uint64, bool)) func(*worker.Reading, func(string, float64)) {
	return func(r *worker.Reading, send func(string, float64)) {
		for _, s := range r.Streams {
			if n, known := of(s); known {
				send(s.Name, float64(n))
			}
		}
	}
}
