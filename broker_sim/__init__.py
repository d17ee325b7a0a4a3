"""broker_sim: a simulated Kafka cluster that behaves as brokers do, on TCP or on virtual time."""
