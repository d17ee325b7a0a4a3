"""The checks of histories of any client, one anomaly per file, by the scope of what they compare."""
