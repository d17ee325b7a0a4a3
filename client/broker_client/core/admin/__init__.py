"""The admin client on Deferreds, one module per family of calls. Mirrors KafkaAdminClient."""
