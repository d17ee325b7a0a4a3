"""Actions on the wall clock of a broker."""
