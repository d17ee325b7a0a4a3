"""A scenario's cluster, topics and rules for clients that the user runs, judged by what brokers and logs show."""
