"""Commands of `broker-sim` about protocol and configurations: one file each, `add(commands)` declares its arguments."""
