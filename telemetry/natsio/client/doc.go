// Package client is what a Go program uses that owns queues, launches or work:
//
//	Publisher   reports load, device limits and launches
//	Subscriber  follows the recommendations
//	PublishWork, WorkPublisher   submit batches
//	Outcomes    waits for what becomes of them
//	Snapshot, Upload, Download, Cancel   single requests to a runtime
//
// All of them work on a natsio.Conn, which reconnects by itself. A program that imports
// this package links neither the NATS server nor anything of the device.
//
// To read the package: reports.go, publisher.go and outbox.go (what is reported, and what of that is sent),
// subscriber.go and following.go (what is told), work.go, outcomes.go and kept.go (batches and their done
// records), then what is asked once.
package client
