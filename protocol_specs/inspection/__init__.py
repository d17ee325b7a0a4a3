"""Bytes for people and machines: hex, frame files, captures and JSON lines, taken apart and put together again."""
