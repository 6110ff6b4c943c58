package client_test

import (
	"context"
	"fmt"
	"time"

	"ringmaster/telemetry"
	"ringmaster/telemetry/natsio"
	"ringmaster/telemetry/natsio/client"
)

// A launcher that decided something itself, here half of the workgroups, says what ran and
// why it was not what the plan said. Presence bits name the fields that were measured.
func ExamplePublisher_ReportLaunch() {
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
	publisher, err := client.NewPublisher(conn, client.PublisherConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}

	plan := telemetry.Recommendation{Decision: 17, WorkgroupSizeX: 256, Groups: 48, ClaimChunk: 256} // of a Subscriber
	launch := telemetry.Launch{
		Has: telemetry.HasLaunch | telemetry.HasDecision | telemetry.HasStatus | telemetry.HasAppliedWorkgroupSizeX | telemetry.HasAppliedGroups |
			telemetry.HasAppliedClaimChunk | telemetry.HasRecommendedWorkgroupSizeX | telemetry.HasRecommendedGroups | telemetry.HasRecommendedClaimChunk |
			telemetry.HasNotApplied | telemetry.HasElapsedNs | telemetry.HasTimeSource | telemetry.HasExecuted | telemetry.HasInFlight,
		Launch: 1, Decision: plan.Decision, Status: telemetry.LaunchOK,
		Applied:     telemetry.Geometry{WorkgroupSizeX: 256, Groups: 24, ClaimChunk: 256},
		Recommended: telemetry.Geometry{WorkgroupSizeX: plan.WorkgroupSizeX, Groups: plan.Groups, ClaimChunk: plan.ClaimChunk},
		NotApplied:  "half of the device is another program's",
		ElapsedNs:   91_000, TimeSource: telemetry.TimeQuery, Executed: 6_144, InFlight: 1,
	}
	if err := publisher.ReportLaunch("gpu0", "frontier", &launch); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(publisher.Close(ctx), publisher.Stats().Sent)
	// Output: <nil> 1
}
