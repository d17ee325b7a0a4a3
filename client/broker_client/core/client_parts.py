"""The classes of which the cores are made. Each is KafkaProducer's or KafkaConsumer's collaborator of the same name.

A documented client bug (`broker_client.defects`) is a subclass of one of them, chosen when a core is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

from broker_client.core.network.metadata import Metadata
from broker_client.core.network.network_client import NetworkClient

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["NETWORK_PARTS", "NetworkParts", "parts_with"]


@dataclass(slots=True, kw_only=True, frozen=True)
class NetworkParts:
    """The parts that every client has."""

    metadata: type[Metadata] = Metadata
    network_client: type[NetworkClient] = NetworkClient


NETWORK_PARTS: Final = NetworkParts()

P = TypeVar("P", bound=NetworkParts)


def parts_with(parts: P, defects: Iterable[str]) -> P:
    """Return `parts`, some of them replaced as the named defects require.

    Raises:
        ConfigError: no defect has that name, or the client has none of its parts.
    """
    names = tuple(defects)
    if not names:
        return parts
    from broker_client.defects import applied  # only a client with a defect loads them

    return applied(parts, names)
