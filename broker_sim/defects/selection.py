"""The defects that a cluster is made with: by name, of all brokers or of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker_sim.config.release_behaviour import release_number
from broker_sim.defects import DEFECTS
from broker_sim.defects.defect import Defect
from broker_sim.errors import BrokerSimError, nearest
from broker_sim.part_types import PartTypes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from broker_sim.config.broker_config import BrokerConfig

__all__ = ["select"]


def select(
    defects: Sequence[str | Defect], *, broker_ids: Sequence[int], config: BrokerConfig
) -> tuple[PartTypes, dict[int, PartTypes]]:
    """Return the classes of the parts of controllers, and those of the parts of each broker.

    A name with a broker's id before it (`2:dedup-returns-45`) is a defect of that broker alone.

    Raises:
        BrokerSimError: A defect is unknown, or given twice, or the release or the configuration lacks the rule that it
            breaks.
    """
    if isinstance(defects, str):
        raise BrokerSimError(f"defects: {defects!r} is a text; expected a list of names, such as [{defects!r}]")
    common: list[Defect] = []
    own: dict[int, list[Defect]] = {broker_id: [] for broker_id in broker_ids}
    for given in defects:
        broker_id, defect = _parsed(given, broker_ids)
        _check_needs(defect, config)
        places = list(own.values()) if broker_id is None else [own[broker_id]]
        if broker_id is None:
            common.append(defect)
        for place in places:
            if defect in place:
                raise BrokerSimError(f"defects: {given!r} is given twice")
            place.append(defect)
    return _types(common), {broker_id: _types(chosen) for broker_id, chosen in own.items()}


def _parsed(given: str | Defect, broker_ids: Sequence[int]) -> tuple[int | None, Defect]:
    if isinstance(given, Defect):
        return None, given
    place, colon, name = given.rpartition(":")
    defect = DEFECTS.get(name)
    if defect is None:
        raise BrokerSimError(f"defects: there is no defect {name!r}{nearest(name, DEFECTS)}")
    if not colon:
        return None, defect
    if not place.isdecimal() or int(place) not in broker_ids:
        raise BrokerSimError(
            f"defects: {given!r}: {place!r} is not a broker: they are {broker_ids[0]} to {broker_ids[-1]}"
        )
    return int(place), defect


def _check_needs(defect: Defect, config: BrokerConfig) -> None:
    behaviour = config.behaviour
    release = release_number(behaviour.release)
    if release < release_number(defect.since):
        reason = f"release {behaviour.release} lacks the rule that it breaks, which came in {defect.since}"
    elif defect.until and release >= release_number(defect.until):
        reason = f"it has no effect since {defect.until}, and the release is {behaviour.release}"
    elif defect.needs_kraft and behaviour.zookeeper:
        reason = f"it is a bug of KRaft controllers, and release {behaviour.release} has ZooKeeper"
    elif missing := [f"{name}={text}" for name, text in defect.needs_config.items() if str(config[name]) != text]:
        reason = f"it has no effect without {', '.join(missing)}"
    else:
        return
    raise BrokerSimError(f"defects: {defect.name!r} cannot be had: {reason}")


def _types(defects: Sequence[Defect]) -> PartTypes:
    return PartTypes(substitute for defect in defects for substitute in defect.substitutes)
