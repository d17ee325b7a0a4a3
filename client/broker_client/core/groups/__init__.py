"""Groups as a consumer sees them: coordinator look-up, membership, assignors, committed offsets."""
