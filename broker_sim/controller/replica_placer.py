"""Places the replicas of new partitions, striped over racks and brokers. Mirrors StripedReplicaPlacer.

Each rack walks its brokers in a circle that starts at a random place and moves on by one with each partition;
racks take turns. After as many partitions as there are unfenced brokers, the orders are shuffled. A leader (the
first replica) is never fenced; fenced brokers of a rack come after its unfenced ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.errors import BrokerSimError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

    from broker_sim.config.release_behaviour import ReleaseBehaviour
    from broker_sim.metadata.metadata_image import BrokerRegistration


class PlacementError(BrokerSimError):
    """The replication factor cannot be reached. Mirrors InvalidReplicationFactorException."""


class _BrokerCircle:
    """Some brokers of one rack. A round is one partition; a second call in a round returns the next broker."""

    __slots__ = ("_brokers", "_given", "_offset", "_round")

    def __init__(self, brokers: Iterable[int], random: Random) -> None:
        self._brokers = sorted(brokers)
        self._offset = random.randrange(len(self._brokers)) if self._brokers else 0
        self._given = 0
        self._round = 0

    def shuffle(self, random: Random) -> None:
        random.shuffle(self._brokers)

    def next(self, round_: int) -> int | None:
        brokers = self._brokers
        if not brokers:
            return None
        if self._round != round_:
            self._round = round_
            self._given = 0
            self._offset = (self._offset + 1) % len(brokers)
        if self._given >= len(brokers):
            return None
        broker = brokers[(self._given + self._offset) % len(brokers)]
        self._given += 1
        return broker


class _Rack:
    __slots__ = ("fenced", "unfenced")

    def __init__(self, brokers: list[BrokerRegistration], random: Random) -> None:
        self.fenced = _BrokerCircle((broker.id for broker in brokers if broker.fenced), random)
        self.unfenced = _BrokerCircle((broker.id for broker in brokers if not broker.fenced), random)

    def next(self, round_: int) -> int | None:
        broker = self.unfenced.next(round_)
        return self.fenced.next(round_) if broker is None else broker

    def shuffle(self, random: Random) -> None:
        self.fenced.shuffle(random)
        self.unfenced.shuffle(random)


def place(
    *,
    partitions: int,
    replication_factor: int,
    brokers: Iterable[BrokerRegistration],
    random: Random,
    behaviour: ReleaseBehaviour,
) -> list[tuple[int, ...]]:
    """Return the replicas of each partition, the preferred leader first.

    Raises:
        PlacementError: There are too few brokers.
    """
    registered = list(brokers)
    unfenced = sum(not broker.fenced for broker in registered)
    cordoned = behaviour.placement_mentions_cordoned_directories
    if not unfenced:
        suffix = ", or have all their log directories cordoned" if cordoned else ""
        msg = f"All brokers are currently fenced{suffix}."
        raise PlacementError(msg)
    if replication_factor > len(registered):
        suffix = " or some brokers have all their log directories cordoned" if cordoned else ""
        msg = (
            f"The target replication factor of {replication_factor} cannot be reached because only "
            f"{len(registered)} broker(s) are registered{suffix}."
        )
        raise PlacementError(msg)
    return _Stripes(registered, unfenced, random).place(partitions, replication_factor)


class _Stripes:
    __slots__ = ("_offset", "_racks", "_random", "_round", "_unfenced")

    def __init__(self, brokers: list[BrokerRegistration], unfenced: int, random: Random) -> None:
        by_rack: dict[str, list[BrokerRegistration]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack or "", []).append(broker)
        self._random = random
        self._racks = [_Rack(by_rack[name], random) for name in sorted(by_rack)]
        self._offset = random.randrange(len(self._racks))
        self._round = 0
        self._unfenced = unfenced

    def place(self, partitions: int, replication_factor: int) -> list[tuple[int, ...]]:
        return [self._place_one(replication_factor) for _ in range(partitions)]

    def _place_one(self, replication_factor: int) -> tuple[int, ...]:
        racks = self._racks
        if self._round == self._unfenced and self._unfenced > 1:
            self._random.shuffle(racks)
            for rack in racks:
                rack.shuffle(self._random)
            self._round = 0
        first = self._offset % len(racks)
        self._offset = first
        leader = racks[first].unfenced.next(self._round)
        while leader is None:
            first = (first + 1) % len(racks)
            leader = racks[first].unfenced.next(self._round)
        replicas = [leader]
        skip_once: int | None = first
        index = self._offset
        while len(replicas) < replication_factor:
            if index == skip_once:
                # The leader's rack has had its turn.
                skip_once = None
            else:
                broker = racks[index].next(self._round)
                if broker is not None:
                    replicas.append(broker)
            index = (index + 1) % len(racks)
        self._round += 1
        self._offset += 1
        return tuple(replicas)
