"""The classes of which a consumer's core is made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from broker_client.core.client_parts import NetworkParts
from broker_client.core.consumer.fetch_buffer import FetchBuffer
from broker_client.core.consumer.fetcher import Fetcher
from broker_client.core.consumer.offset_lookups import OffsetLookups
from broker_client.core.consumer.positions import Positions
from broker_client.core.groups.broker_assigned_group import BrokerAssignedGroup
from broker_client.core.groups.classic_group import ClassicGroup

__all__ = ["CONSUMER_PARTS", "ConsumerParts"]


@dataclass(slots=True, kw_only=True, frozen=True)
class ConsumerParts(NetworkParts):
    """The parts of a consumer."""

    broker_assigned_group: type[BrokerAssignedGroup] = BrokerAssignedGroup
    classic_group: type[ClassicGroup] = ClassicGroup
    fetch_buffer: type[FetchBuffer] = FetchBuffer
    fetcher: type[Fetcher] = Fetcher
    offset_lookups: type[OffsetLookups] = OffsetLookups
    positions: type[Positions] = Positions


CONSUMER_PARTS: Final = ConsumerParts()
