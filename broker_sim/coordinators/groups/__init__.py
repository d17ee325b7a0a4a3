"""Groups and their offsets: the shards of `__consumer_offsets`. Mirrors the group coordinator of Kafka."""
