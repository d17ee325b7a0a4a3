"""Configuration of brokers and topics: names, types, defaults. Mirrors KafkaConfig and LogConfig."""
