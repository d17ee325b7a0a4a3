"""The Kafka wire protocol, declared once: messages, record batches, error codes and broker releases."""
