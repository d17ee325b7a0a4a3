"""Foreign clients as drivers of scenarios: each runs in a process of its own and gets its operations as JSON lines."""
