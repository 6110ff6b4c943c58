// Command fleet measures what faults cost a fleet: several nats-server processes that keep the
// stream of decisions together, several processes that decide, and simulated workers whose queues
// report their load. It kills, stops and restarts them, and prints for each kind of fault how long
// a record waited for its decision, and what the stream has at the end: decisions that were made
// twice, or inputs that went back. docs/reliability.md has its table.
//
//	go run ./bench/fleet --workers 1000 --runs 20
package main
