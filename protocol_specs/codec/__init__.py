"""The two codecs made from one declaration: generated functions for the hot path, construct as the reference."""
