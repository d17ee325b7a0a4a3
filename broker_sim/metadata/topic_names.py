"""Which names a topic can have. Mirrors org.apache.kafka.common.internals.Topic."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NAME_LENGTH: Final = 249
GROUP_METADATA_TOPIC_NAME: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC_NAME: Final = "__transaction_state"
SHARE_GROUP_STATE_TOPIC_NAME: Final = "__share_group_state"
CLUSTER_METADATA_TOPIC_NAME: Final = "__cluster_metadata"

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+")


def refused_name(name: str, *, illegal: bool = False) -> str | None:
    """Return why a name is not allowed, None when it is; `illegal`: with the error text before 3.3."""
    if illegal:
        return _illegal_name(name)
    if not name:
        reason = "the empty string is not allowed"
    elif name in {".", ".."}:
        reason = f"'{name}' is not allowed"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"the length of '{name}' is longer than the max allowed length {MAX_NAME_LENGTH}"
    elif not _LEGAL.fullmatch(name):
        reason = f"'{name}' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'"
    else:
        return None
    return f"Topic name is invalid: {reason}"


def _illegal_name(name: str) -> str | None:
    if refused_name(name) is None:
        return None
    if not name:
        return "Topic name is illegal, it can't be empty"
    if name in {".", ".."}:
        return 'Topic name cannot be "." or ".."'
    if len(name) > MAX_NAME_LENGTH:
        return f"Topic name is illegal, it can't be longer than {MAX_NAME_LENGTH} characters, topic name: {name}"
    return f"Topic name \"{name}\" is illegal, it contains a character other than ASCII alphanumerics, '.', '_' and '-'"


def colliding_name(name: str, existing: Iterable[str]) -> str | None:
    """Return the existing topic whose name differs in dots and underscores alone (metric names confuse the two)."""
    if "." not in name and "_" not in name:
        return None
    unified = name.replace(".", "_")
    return next((other for other in existing if len(other) == len(name) and other.replace(".", "_") == unified), None)
