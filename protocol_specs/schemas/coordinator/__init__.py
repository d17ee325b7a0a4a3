"""Records of the group, share and transaction coordinators: key and value, one file per record type."""
