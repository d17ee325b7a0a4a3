"""The KRaft-shaped controller: the metadata image, elections, producer ids, broker registrations."""
