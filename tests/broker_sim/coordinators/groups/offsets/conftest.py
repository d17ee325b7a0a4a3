"""The clusters of the API tests, whose handlers reach the offsets of a shard."""

from __future__ import annotations

from tests.broker_sim.apis.conftest import bench

__all__ = ["bench"]
