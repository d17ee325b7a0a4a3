"""Coordinators: state machines over the partitions of internal topics, such as the groups of `__consumer_offsets`."""
