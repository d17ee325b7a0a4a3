"""Records of the metadata log, one file each."""
