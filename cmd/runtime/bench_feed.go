package main

import (
	"errors"
	"fmt"

	"ringmaster/glcompute"
	"ringmaster/megakernel"
)

// The slots of a wave in the feeding benchmark. A software renderer fills its cores
// with fewer.
const (
	feedDepth         = 64 << 10
	hardwareFeedDepth = 512 << 10
)

// What the staging benchmark moves, in bytes: on hardware several times a host's
// caches, on a software renderer little enough for a test machine.
const (
	stagingBytes         = 64 << 20
	hardwareStagingBytes = 512 << 20
)

// benchFeed times slots on their way from their producers to their end, and bytes on
// their way from Go's memory to the device's.
func benchFeed(device *glcompute.Device, report *benchReport) error {
	cfg := megakernel.FeedConfig{
		Geometry: megakernel.Geometry{Width: 256, Groups: 8, Chunk: 1024}, Producers: 2, Batch: 4096, Depth: feedDepth, Waves: 20, Rounds: 5,
	}
	bytes := stagingBytes
	if !device.Info().Software {
		cfg.Geometry = megakernel.Geometry{Width: 512, Groups: 528, Chunk: 2048}
		cfg.Producers, cfg.Batch, cfg.Depth, bytes = 8, 32<<10, hardwareFeedDepth, hardwareStagingBytes
	}
	r, err := megakernel.FeedBench(device, cfg)
	if err != nil {
		return err
	}
	report.row(benchRow{
		Name: fmt.Sprintf("ring/feed/%d producers", cfg.Producers), Value: r.Feed, Unit: "slots/s",
		Yardstick: "draining alone, waves of the same depth", YardstickValue: r.Drain,
	})
	for _, writers := range []int{1, 2, 4, 8} {
		s, err := megakernel.StagingBench(device, bytes, writers, 5)
		if errors.Is(err, errors.ErrUnsupported) {
			return nil
		}
		if err != nil {
			return err
		}
		report.row(benchRow{
			Name: fmt.Sprintf("ring/staging/%d writers", writers), Value: s.Staged / 1e9, Unit: "GB/s",
			Yardstick: "buffer updates, same bytes", YardstickValue: s.Updates / 1e9,
		})
	}
	return nil
}
