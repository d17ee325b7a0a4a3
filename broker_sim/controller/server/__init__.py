"""A controller's own listener: what brokers and tools reach it by (KIP-919). Mirrors ControllerServer."""
