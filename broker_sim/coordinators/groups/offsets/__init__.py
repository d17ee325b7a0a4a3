"""The committed offsets of groups. Mirrors OffsetMetadataManager and what it stores."""
