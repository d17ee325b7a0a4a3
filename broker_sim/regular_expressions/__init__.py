"""Regular expressions as RE2J reads and matches them, which consumer groups (KIP-848) and ListTransactions use.

A library of RE2 itself (google-re2) is no replacement: it accepts other expressions than RE2J, has other error texts,
and prints to standard error.
"""
