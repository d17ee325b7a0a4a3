"""The client of a request to a group. Mirrors the part of RequestContext that groups use."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["ClientInfo"]


class ClientInfo(NamedTuple):
    """A client's id, its address as Java prints it, and the version of its request."""

    client_id: str
    client_host: str
    api_version: int
