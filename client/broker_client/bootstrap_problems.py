"""The problems of connections to bootstrap servers, for programs that report them before a call is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from broker_client.core.network.metadata import Metadata
    from broker_client.core.network.network_client import NetworkClient

__all__ = ["bootstrap_problems"]


class _Core(Protocol):
    @property
    def metadata(self) -> Metadata: ...

    @property
    def client(self) -> NetworkClient: ...


def bootstrap_problems(core: _Core) -> list[str] | None:
    """Return why bootstrap servers cannot be reached so far, None once a broker has sent its metadata."""
    return core.client.connection_problems() if core.metadata.cluster.is_bootstrap else None
