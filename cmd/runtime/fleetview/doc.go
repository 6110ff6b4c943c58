// Package fleetview folds what is heard on the bus into rows of queues, workers and runtimes, as a person looks at
// them: what is wrong, rates, latencies, ages, and why a plan is as it is.
//
// A View is a value: it knows no clock, no connection and no goroutine, every instant is an argument, and it takes
// bounded memory whatever names arrive. What was not heard is unknown and never zero.
package fleetview
