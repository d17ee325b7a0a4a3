"""Actions on the log directories and files of a broker."""
