"""One thin file an API; `kafka_apis` is the registry that dispatches to them and answers ApiVersions."""
