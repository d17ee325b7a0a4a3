"""The producer's core on one reactor: Sender, its loop, batch completion, futures."""
