"""Several controllers: voters of the metadata quorum with their drivers, links and state machines."""
