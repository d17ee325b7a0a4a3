"""The transaction coordinator: transactional ids and the ends of their transactions (KIP-98, KIP-890)."""
