"""The quorum of controllers: KRaft without I/O (KIP-595), its driver, and the controllers that it makes leaders."""
