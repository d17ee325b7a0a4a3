"""The runtime that all coordinators share: shards, replay, timers, and operations that wait for their records."""
