"""Where a replay of the recorded exchanges is not the same, and why: what is accepted, and what is still open."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tests.differential.exchanges import Exchange


class Verdict(Enum):
    """How an exchange ends."""

    SAME = "same"
    ACCEPTED = "accepted"
    OPEN = "open"


EARLIER_GROUPS: Final = "the recorded cluster had a group before the conversation"
EARLIER_RECORDS: Final = "the recorded cluster had records of a group before the conversation"
RETENTION: Final = (
    "the retention of the recorded cluster has removed the records before the marker, whose times are old"
)
WAITS: Final = "the recorded conversation waited until the share partition was initialized"

OPEN: Final[dict[tuple[str, str, int], str]] = {
    **{
        (release, case, api_key): reason
        for release in ("3.7.2", "4.3.1")
        for case, api_key, reason in (
            ("list groups", 16, EARLIER_GROUPS),
            ("list groups after that", 16, EARLIER_GROUPS),
            ("describe log dirs: all", 35, EARLIER_RECORDS),
        )
    },
    ("4.3.1", "share heartbeat: keep alive", 76): WAITS,
    ("4.3.1", "share group describe", 77): WAITS,
    ("4.3.1", "produce: for the share group", 0): RETENTION,
}
"""Release, case and API key -> why our response still differs from the real one."""


def expected(exchange: Exchange) -> tuple[Verdict, str]:
    """How a replay of this exchange ends, and why."""
    reason = OPEN.get((exchange.release, exchange.case, exchange.api_key))
    return (Verdict.SAME, "") if reason is None else (Verdict.OPEN, reason)
