"""The one path of every request: stages in order, fed by TCP channels, links between nodes and plain calls."""
