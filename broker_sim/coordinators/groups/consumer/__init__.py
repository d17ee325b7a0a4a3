"""Consumer groups (KIP-848): members whose assignments the coordinator computes and reconciles."""
