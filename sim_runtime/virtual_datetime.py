"""The classes `datetime` and `date` whose `now` and `today` are those of a world."""

from __future__ import annotations

import datetime as dt
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["virtual_datetime"]


class _AnyInstance(type):
    """An instance of the real class is one of the virtual class, too: methods return real ones."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1])


def virtual_datetime(now: Callable[[], float]) -> dict[object, object]:
    """The replacement of each name that shows the machine's time: `datetime.datetime`, `datetime.date`, `datetime`."""

    class VirtualDatetime(dt.datetime, metaclass=_AnyInstance):
        """datetime.datetime on virtual time."""

        @classmethod
        def now(cls, tz: dt.tzinfo | None = None) -> Any:
            """The time in a zone, or the local one."""
            return dt.datetime.fromtimestamp(now(), tz)

        @classmethod
        def utcnow(cls) -> Any:
            """The time in UTC, without a zone."""
            return dt.datetime.fromtimestamp(now(), dt.UTC).replace(tzinfo=None)

        @classmethod
        def today(cls) -> Any:
            """The local time."""
            return dt.datetime.fromtimestamp(now())  # noqa: DTZ006 - as the real one

    class VirtualDate(dt.date, metaclass=_AnyInstance):
        """datetime.date on virtual time."""

        @classmethod
        def today(cls) -> Any:
            """The local date."""
            return dt.date.fromtimestamp(now())  # noqa: DTZ012 - as the real one

    module = ModuleType("datetime", dt.__doc__)
    vars(module).update(vars(dt), datetime=VirtualDatetime, date=VirtualDate)
    return {dt.datetime: VirtualDatetime, dt.date: VirtualDate, dt: module}
