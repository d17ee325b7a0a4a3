"""Actions of an administrator: leaders, replicas, topics, configurations, quotas."""
