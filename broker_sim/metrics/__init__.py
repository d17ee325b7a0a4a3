"""What brokers count and measure, under Kafka's own names, for Python and as Prometheus text."""
