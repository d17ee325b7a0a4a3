"""One configuration key as data: name, type, default, range, meaning and status.

Mirrors ConfigDef.ConfigKey, with the validators of ConfigDef as fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["ConfigKey", "Importance", "KeyStatus", "ValueType"]


class KeyStatus(Enum):
    """The status of a key in this client."""

    IMPLEMENTED = "implemented"
    MAPPED = "mapped"
    REFUSED = "refused"


class ValueType(Enum):
    """The types of ConfigDef."""

    BOOLEAN = "boolean"
    CLASS = "class"
    DOUBLE = "double"
    INT = "int"
    LIST = "list"
    LONG = "long"
    PASSWORD = "password"
    SHORT = "short"
    STRING = "string"


class Importance(Enum):
    """The importance of a key, as in Java."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigKey:
    """One configuration key.

    `also` lists numbers outside the range that are valid too. `doc` is the meaning; `note` explains how the key is
    mapped or why it is refused. A refused key may be given its default. `removed_in` is the release that removed it
    from Java.
    """

    name: str
    type: ValueType
    importance: Importance
    doc: str
    default: object = None
    required: bool = False
    minimum: float | None = None
    maximum: float | None = None
    also: tuple[float, ...] = ()
    one_of: tuple[str, ...] = ()
    ignore_case: bool = False
    non_empty: bool = False
    status: KeyStatus = KeyStatus.IMPLEMENTED
    note: str = ""
    removed_in: str = ""

    @property
    def has_range(self) -> bool:
        """True if numbers have narrower bounds than their type."""
        return self.minimum is not None or self.maximum is not None
