"""Inspection of bytes: hex, frame files, captures and JSON lines, decoded and encoded again."""
