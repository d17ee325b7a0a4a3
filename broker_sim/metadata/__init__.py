"""What every broker knows of the cluster: image, records, metadata log, replay, cache, loader, topic names."""
