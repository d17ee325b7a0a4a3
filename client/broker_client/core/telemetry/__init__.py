"""Client metrics for the brokers that ask for them: KIP-714."""
