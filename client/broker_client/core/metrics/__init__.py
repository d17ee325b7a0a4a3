"""The metrics of clients: Kafka's sensors and statistics, and where each is recorded."""
