"""Runtime of all packages: reactors, simulated network and disk, random streams, deadlines, state tables."""
