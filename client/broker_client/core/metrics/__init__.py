"""What the producer measures of itself: Kafka's sensors and statistics, and where each of them stands."""
