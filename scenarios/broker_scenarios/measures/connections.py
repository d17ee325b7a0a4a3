"""Measures of connections: how many, and how fast clients open them (the check res-connects)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from broker_scenarios.measures.measure import Measure, most_in_a_second
from broker_sim.control.events import ConnectionOpened

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from broker_scenarios.measures.measure import RunFacts

__all__ = ["MEASURES"]

_KEYS: Final = ("client", "broker", "from_ms")


def _opened(facts: RunFacts, select: Mapping[str, Any]) -> Iterator[int]:
    """The times of the connections that fit."""
    from_us = facts.begin_us + round(select["from_ms"] * 1000) if "from_ms" in select else 0
    of_client = _of_client(facts, select["client"]) if "client" in select else None
    for event in facts.journal:
        if (
            type(event) is ConnectionOpened
            and event.time_us >= from_us
            and ("broker" not in select or event.broker_id == select["broker"])
            and (of_client is None or event.connection_id in of_client)
        ):
            yield event.time_us


def _of_client(facts: RunFacts, client: str) -> set[str]:
    """The connections of a client, which is known by its requests.

    A connection that ends before its first request is the client's if all requests from its host are.
    """
    hosts = {event.connection_id: event.client_host for event in facts.journal if type(event) is ConnectionOpened}
    used = {event.connection_id for event in facts.requests({})}
    of_client = {event.connection_id for event in facts.requests({"client": client})}
    its_hosts = {hosts.get(each) for each in of_client} - {hosts.get(each) for each in used - of_client}
    return of_client | {each for each, host in hosts.items() if each not in used and host in its_hosts}


def _count(facts: RunFacts, select: Mapping[str, Any]) -> float:
    return sum(1 for _ in _opened(facts, select))


def _rate(facts: RunFacts, select: Mapping[str, Any]) -> float:
    return most_in_a_second(_opened(facts, select))


MEASURES: Final = (
    Measure(name="connections", meaning="how many connections the brokers accepted", keys=_KEYS, of=_count),
    Measure(name="connections_in_a_second", meaning="the most connections within any second", keys=_KEYS, of=_rate),
)
