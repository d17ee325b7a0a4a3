"""The ground floor: virtual and real reactors, simulated network, random streams, deadlines, queues, state tables."""
