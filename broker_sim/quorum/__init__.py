"""KRaft without I/O (KIP-595): one voter of the metadata quorum as a state machine."""
