// Package metrics shows a worker's node to Prometheus.
//
// What happened is counted by those to whom it happens; a scrape reads their counts (worker.Reading) and makes
// series of them, by the tables of families.go and queues.go. Only durations are observed where they pass, by
// histograms that are classic and native in one.
//
// Queues have series of their own up to a bound, because names of queues cost nothing to make up: the busiest have,
// and those that are stopped; the others are summed up as queue="(rest)". A counter of the rest counts what queues did
// while they were part of it, so that it only grows.
package metrics
