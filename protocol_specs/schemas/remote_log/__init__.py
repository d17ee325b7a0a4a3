"""Records of the remote log metadata topic (KIP-405), one file per record type."""
