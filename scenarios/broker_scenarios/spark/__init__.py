"""The harness on Spark: the load as a DataFrame, producers inside its tasks, the checks over its partitions."""
