"""One configuration key as data: name, type, default, range, meaning, and what becomes of it here.

Mirrors ConfigDef.ConfigKey, with the validators of ConfigDef as fields.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

__all__ = ["ConfigKey", "Importance", "KeyStatus", "ValueType"]


class KeyStatus(Enum):
    """What becomes of a key here."""

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
    """How much a key matters, to Java's authors."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


@dataclass(slots=True, kw_only=True, frozen=True)
class ConfigKey:
    """One key.

    `also` are numbers outside of the range that are taken too. `doc` says what it means, `note` how it is mapped or why
    it is refused. A refused key may be given its default. `removed_in` is the release that took it out of Java.
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
        """Whether numbers are bounded by more than their type."""
        return self.minimum is not None or self.maximum is not None
