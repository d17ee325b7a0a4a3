"""The state and steps that consumer, share and streams groups have in common: KIP-848, KIP-932, KIP-1071."""
