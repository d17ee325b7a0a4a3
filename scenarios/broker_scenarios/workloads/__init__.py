"""What the producers of a scenario send: loads made by seed, one kind a file."""
