"""Reading assigned partitions: Fetcher, SubscriptionState, offset lookups."""
