"""The cluster's metadata at every broker: image, records, metadata log, replay, cache, loader, topic names."""
