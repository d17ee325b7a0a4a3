"""Classic groups: members that join, sync and heartbeat, and whose leader assigns. Mirrors ClassicGroup and its part of
GroupMetadataManager.
"""
