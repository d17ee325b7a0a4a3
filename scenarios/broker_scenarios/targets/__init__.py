"""The clusters that a scenario can run on: a simulated one, or a running one behind a proxy."""
