"""The client of a request to a group. Mirrors the part of RequestContext that groups use."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from broker_sim.security.access import Access

__all__ = ["ClientInfo"]


class ClientInfo(NamedTuple):
    """A client's id, its address as Java prints it, and the version of its request."""

    client_id: str
    client_host: str
    api_version: int
    access: Access | None = None
    """The rights of the client, by which expressions find topics; None where nothing is checked."""
