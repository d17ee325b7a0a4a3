"""Quotas: what a client may use of a broker, and how long it waits after more. Mirrors Kafka's quota managers."""
