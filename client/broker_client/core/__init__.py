"""The parts of Kafka's clients on an injected reactor, one room per part, under Kafka's names."""
