"""Defects of buffers, threads and limits."""
