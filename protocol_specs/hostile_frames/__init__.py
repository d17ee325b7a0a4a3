"""Hostile bytes without Hypothesis: frames made from the declarations and a seed, broken, read, and judged.

`campaign` runs frames by number: the same seed and number give the same bytes on every machine. `judge` says what a
reader may do with them. Nothing here reads a clock or draws from a global source: both are passed in.
"""
