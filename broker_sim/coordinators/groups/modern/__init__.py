"""The state and steps that consumer and share groups have in common: KIP-848 and KIP-932."""
