"""Where a replay of the recorded exchanges is not the same, and why: what is accepted, and what is still open."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from broker_sim.apis.controller.controller_apis import HANDLERS as CONTROLLER_HANDLERS
from broker_sim.apis.kafka_apis import HANDLERS
from tests.differential.probe import CLOSED

if TYPE_CHECKING:
    from tests.differential.exchanges import Exchange


class Verdict(Enum):
    """How an exchange ends."""

    SAME = "same"
    ACCEPTED = "accepted"
    OPEN = "open"
    NOT_SERVED = "not served"


NOT_SERVED: Final = "the API is not implemented yet"
TRANSACTIONS: Final = "transactions are not implemented yet"
GROUPS: Final = "the logs of groups and transactions are not implemented yet"
EARLIER_GROUPS: Final = "the recorded cluster had a group before the conversation, and one of a transaction"
PARTITIONS: Final = "the order of partitions of the offsets topic, whose number the recording does not state"
WAITS: Final = "the recorded conversation waited until the share partition was initialized"

OPEN: Final[dict[tuple[str, str, int], str]] = {
    **{
        (release, case, api_key): TRANSACTIONS
        for release in ("3.7.2", "4.3.1")
        for case, api_key in (
            ("init producer id: transactional, second time raises epoch", 22),
            ("init producer id: wrong pid", 22),
            ("produce: transactional", 0),
            ("produce: transactional to a partition not added", 0),
            ("fetch read committed with an open transaction", 1),
            ("fetch read committed after abort", 1),
            ("describe producers", 61),
        )
    },
    ("4.3.1", "produce v12: transactional to a partition not added", 0): TRANSACTIONS,
    ("4.3.1", "delete records: -1", 21): TRANSACTIONS,
    ("4.3.1", "produce: for the share group", 0): TRANSACTIONS,
    **{
        (release, case, api_key): reason
        for release in ("3.7.2", "4.3.1")
        for case, api_key, reason in (
            ("list groups", 16, EARLIER_GROUPS),
            ("list groups after that", 16, EARLIER_GROUPS),
            ("txn offset commit", 28, TRANSACTIONS),
            ("offset fetch: pending transactional, require stable", 9, TRANSACTIONS),
        )
    },
    ("4.3.1", "describe groups", 15): PARTITIONS,
    ("4.3.1", "share heartbeat: keep alive", 76): WAITS,
    ("4.3.1", "share group describe", 77): WAITS,
    ("4.3.1", "share fetch: next", 78): TRANSACTIONS,
    ("4.3.1", "share acknowledge: accept", 79): TRANSACTIONS,
    ("4.3.1", "share acknowledge: the same again", 79): TRANSACTIONS,
    ("4.3.1", "share group offsets describe", 90): TRANSACTIONS,
    ("3.7.2", "describe log dirs: all", 35): GROUPS,
    ("4.3.1", "describe log dirs: all", 35): GROUPS,
}
"""Release, case and API key -> why our response still differs from the real one."""


def expected(exchange: Exchange) -> tuple[Verdict, str]:
    """How a replay of this exchange ends, and why."""
    served = HANDLERS.served if exchange.listener == "broker" else CONTROLLER_HANDLERS.served
    if exchange.api_key not in served and exchange.response != CLOSED:
        return Verdict.NOT_SERVED, NOT_SERVED
    reason = OPEN.get((exchange.release, exchange.case, exchange.api_key))
    return (Verdict.SAME, "") if reason is None else (Verdict.OPEN, reason)
