"""The metrics of brokers, under Kafka's own names, for Python and as Prometheus text."""
