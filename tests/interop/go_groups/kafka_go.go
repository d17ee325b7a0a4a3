package main

import (
	"context"
	"errors"

	"github.com/segmentio/kafka-go"
)

// Reads with the generations of kafka-go's ConsumerGroup, on which its Reader is built.
func segmentio(ctx context.Context, servers []string, group, topic string) error {
	config := kafka.ConsumerGroupConfig{
		ID:                group,
		Brokers:           servers,
		Topics:            []string{topic},
		StartOffset:       kafka.FirstOffset,
		HeartbeatInterval: heartbeatInterval,
	}
	consumers, err := kafka.NewConsumerGroup(config)
	if err != nil {
		return err
	}
	for {
		generation, err := consumers.Next(ctx)
		if ctx.Err() != nil {
			return consumers.Close()
		}
		if err != nil {
			return errors.Join(err, consumers.Close())
		}
		partitions := []int32{}
		for _, assigned := range generation.Assignments[topic] {
			partitions = append(partitions, int32(assigned.ID))
			generation.Start(readPartition(generation, servers, topic, assigned))
		}
		printAssigned(partitions)
	}
}

func readPartition(
	generation *kafka.Generation, servers []string, topic string, assigned kafka.PartitionAssignment,
) func(context.Context) {
	return func(ctx context.Context) {
		reader := kafka.NewReader(kafka.ReaderConfig{
			Brokers: servers, Topic: topic, Partition: assigned.ID, MaxWait: heartbeatInterval,
		})
		defer reader.Close()
		if err := reader.SetOffset(assigned.Offset); err != nil {
			return
		}
		for {
			message, err := reader.ReadMessage(ctx)
			if err != nil {
				return
			}
			offsets := map[string]map[int]int64{topic: {assigned.ID: message.Offset + 1}}
			if err := generation.CommitOffsets(offsets); err != nil {
				return
			}
			printRecord(int32(message.Partition), message.Offset, message.Value)
		}
	}
}
