package demo

import (
	"context"
	"fmt"

	"ringmaster/telemetry/natsio/client"
)

// count reads from the device how many tokens the ring counted. It submits nothing: what is played and shown
// is the trace alone.
func (d *Demo) count(ctx context.Context) (uint64, error) {
	var word [1]uint32
	if err := client.Download(ctx, d.subscriber, Worker, playerQueues[decode], counterWord, word[:]); err != nil {
		return 0, fmt.Errorf("the device's count of tokens: %w", err)
	}
	return uint64(word[0]), nil
}
