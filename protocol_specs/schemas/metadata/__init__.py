"""Records of the metadata log, one file per record type."""
