"""The share consumer: membership, share sessions, acknowledgements (KIP-932, KIP-1206, KIP-1222)."""
