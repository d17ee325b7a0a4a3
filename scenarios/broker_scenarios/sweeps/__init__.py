"""The parts of a sweep: one seed with its limit of time, the engines that run many, and the seeds that fail."""
