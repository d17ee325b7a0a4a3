"""The date and time of a world."""

# ruff: noqa: DTZ001, DTZ006, DTZ012
# Foreign code reads the local time.

from __future__ import annotations

import datetime as dt

from sim_runtime.virtual_datetime import virtual_datetime
from sim_runtime.world import World


def test_now_is_the_time_of_the_world() -> None:
    world = World(1)
    names = virtual_datetime(world.reactor.seconds)
    datetime, date, module = names[dt.datetime], names[dt.date], names[dt]
    world.run_for(ms=1_500)
    assert datetime.now(dt.UTC) == dt.datetime(2026, 1, 1, 0, 0, 1, 500_000, dt.UTC)
    assert datetime.utcnow() == dt.datetime(2026, 1, 1, 0, 0, 1, 500_000)
    assert datetime.now() == datetime.today() == dt.datetime.fromtimestamp(world.reactor.seconds())
    assert date.today() == dt.date.fromtimestamp(world.reactor.seconds())
    assert (module.datetime, module.date, module.timedelta) == (datetime, date, dt.timedelta)


def test_the_classes_are_the_real_ones_otherwise() -> None:
    datetime = virtual_datetime(float)[dt.datetime]
    assert isinstance(dt.datetime(2026, 1, 1), datetime)
    assert datetime(2026, 1, 2) - dt.datetime(2026, 1, 1) == dt.timedelta(1)
    assert datetime.fromisoformat("2026-01-01T00:00:00") == dt.datetime(2026, 1, 1)
