package client_test

import (
	"context"
	"fmt"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// A program that owns a GPU queue reports its load whenever it changes and
// launches by the newest plan.
func ExamplePublisher() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server, stop := serveExample(ctx)
	defer stop()

	cfg := natsio.DefaultConfig()
	cfg.URL = server
	conn, err := natsio.Connect(cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	subscriber, err := client.NewSubscriber(conn, "gpu0", "frontier", client.SubscriberConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer subscriber.Close()
	publisher, err := client.NewPublisher(conn, client.PublisherConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer publisher.Close(ctx)

	// Reports return at once and are coalesced while they wait.
	for length := range uint32(1000) {
		err := publisher.ReportQueue("gpu0", "frontier", &telemetry.Queue{Has: telemetry.HasQueueLen, QueueLen: length})
		if err != nil {
			fmt.Println(err)
			return
		}
	}

	update, err := subscriber.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(update.Recommendation.Topology, update.Usable())
	// Before each launch:
	if advice, ok := subscriber.Latest("gpu0", "frontier"); ok && advice.Usable() {
		fmt.Printf("launch %d groups of %d\n", advice.Recommendation.Groups, advice.Recommendation.WorkgroupSizeX)
	}
	// Output:
	// dense_frontier true
	// launch 255 groups of 256
}
