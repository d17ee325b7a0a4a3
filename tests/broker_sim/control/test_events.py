"""Events are values: `Event` has the methods of a dataclass once for all kinds."""

from __future__ import annotations

import dataclasses

import pytest

from broker_sim.control import events
from broker_sim.control.events import Event, LogTruncated, RuleReleased, TopicDeleted

KINDS = [
    kind for kind in vars(events).values() if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
]


def event_of(kind: type[Event], **changes: object) -> Event:
    """An event whose fields have their names as values."""
    return kind(**({each.name: each.name for each in dataclasses.fields(kind)} | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_event_is_equal_to_one_with_the_same_fields(kind: type[Event]) -> None:
    event = event_of(kind)
    assert event == event_of(kind)
    for each in dataclasses.fields(kind):
        assert (event == event_of(kind, **{each.name: "another"})) is not each.compare, each.name


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_the_text_of_an_event_builds_it_again(kind: type[Event]) -> None:
    hidden = {each.name: each.default for each in dataclasses.fields(kind) if not each.repr}
    event = event_of(kind, **hidden)
    assert eval(repr(event), vars(events)) == event


def test_the_text_of_a_truncation_leaves_the_bytes_of_its_batches_out() -> None:
    assert "batches" not in repr(event_of(LogTruncated, batches=(b"\0" * 1000,)))


def test_events_of_two_kinds_differ() -> None:
    class SameFields(RuleReleased):
        pass

    event = RuleReleased(time_us=1, broker_id=2, rule="r")
    assert event != SameFields(time_us=1, broker_id=2, rule="r")
    assert event != (1, 2, "r", 0)


def test_an_event_is_not_hashable() -> None:
    with pytest.raises(TypeError, match="unhashable type: 'TopicDeleted'"):
        hash(event_of(TopicDeleted))
