"""Quotas: limits of what clients use of a broker, and their throttle times. Mirrors Kafka's quota managers."""
