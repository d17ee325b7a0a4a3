"""A TCP proxy in front of any Kafka cluster that reads its frames: fault rules on requests, responses and bytes."""
