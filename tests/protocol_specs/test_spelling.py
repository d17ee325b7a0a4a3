from __future__ import annotations

import pytest

from protocol_specs.spelling import close_names, nearest

KNOWN = ("Heartbeat", "GROUP_LOAD_IN_PROGRESS", "linger.ms", "orders-0")


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("Hartbeat", ("Heartbeat",)),
        ("HEARTBEAT", ("Heartbeat",)),
        ("group-load-in-progres", ("GROUP_LOAD_IN_PROGRESS",)),
        ("linger_ms", ("linger.ms",)),
        ("order", ("orders-0",)),
        ("GROUP_LOAD_IN", ("GROUP_LOAD_IN_PROGRESS",)),
        ("GROUP", ()),
        ("NOT_LOADED", ()),
        ("beat", ()),
        ("", ()),
    ],
)
def test_case_and_separators_do_not_matter(name: str, close: tuple[str, ...]) -> None:
    assert close_names(name, KNOWN) == close


def test_others_that_are_about_as_near_follow_the_nearest_up_to_the_requested_number() -> None:
    known = ("orders-10", "orders-1", "payments", "order-lines")
    assert close_names("orders-1", known, count=1) == ("orders-1",)
    assert close_names("orders-1", known, count=9) == ("orders-1", "orders-10")


def test_the_nearest_name_is_offered_and_none_that_is_far() -> None:
    assert nearest("num.partitons", ["num.partitions", "num.io.threads"]) == "; did you mean 'num.partitions'?"
    assert nearest("acks", ["linger.ms"]) == ""
