package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

const heartbeatInterval = 100 * time.Millisecond

type handler struct{ topic string }

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	printAssigned(slices.Clone(session.Claims()[h.topic]))
	return nil
}

func (h handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		session.MarkMessage(message, "")
		session.Commit()
		printRecord(message.Partition, message.Offset, message.Value)
	}
	return nil
}

// Reads with sarama's consumer group, which rebalances eagerly.
func shopify(ctx context.Context, servers []string, group, topic string) error {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Heartbeat.Interval = heartbeatInterval
	consumers, err := sarama.NewConsumerGroup(servers, group, config)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err := consumers.Consume(ctx, []string{topic}, handler{topic}); err != nil {
			return errors.Join(err, consumers.Close())
		}
	}
	return consumers.Close()
}
