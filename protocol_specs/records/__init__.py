"""Record batches: the format of the log and of Produce and Fetch, with its checksum and compression."""
