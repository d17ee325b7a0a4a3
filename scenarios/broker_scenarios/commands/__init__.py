"""The commands of `broker-sim` that are about the protocol: one file each, `add(commands)` declares its arguments."""
