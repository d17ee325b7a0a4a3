package main

import (
	"context"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kgo"
)

// Reads with the default balancer of franz-go, which is cooperative: assignments change in steps.
func franz(ctx context.Context, servers []string, group, topic string) error {
	owned := map[int32]bool{}
	change := func(present bool) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
			for _, partition := range changed[topic] {
				if present {
					owned[partition] = true
				} else {
					delete(owned, partition)
				}
			}
			printAssigned(slices.Collect(maps.Keys(owned)))
		}
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(servers...),
		kgo.ConsumerGroup(group),
		kgo.ConsumeTopics(topic),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.HeartbeatInterval(heartbeatInterval),
		kgo.OnPartitionsAssigned(change(true)),
		kgo.OnPartitionsRevoked(change(false)),
		kgo.OnPartitionsLost(change(false)),
	)
	if err != nil {
		return err
	}
	defer client.CloseAllowingRebalance()
	for {
		fetches := client.PollFetches(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err := fetches.Err(); err != nil {
			return err
		}
		records := fetches.Records()
		if err := client.CommitRecords(ctx, records...); err != nil {
			return err
		}
		for _, record := range records {
			printRecord(record.Partition, record.Offset, record.Value)
		}
		client.AllowRebalance()
	}
}
