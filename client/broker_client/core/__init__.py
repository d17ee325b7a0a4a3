"""The producer's parts under the names that Kafka gives them, on an injected reactor."""
