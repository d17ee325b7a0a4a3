"""Client metrics for brokers that subscribe to them: KIP-714."""
