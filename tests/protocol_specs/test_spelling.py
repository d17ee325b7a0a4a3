from __future__ import annotations

import pytest

from protocol_specs import spelling
from sim_runtime import spelling as runtime_spelling

KNOWN = ("Heartbeat", "GROUP_LOAD_IN_PROGRESS", "linger.ms", "orders-0")


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("Hartbeat", ("Heartbeat",)),
        ("HEARTBEAT", ("Heartbeat",)),
        ("group-load-in-progres", ("GROUP_LOAD_IN_PROGRESS",)),
        ("linger_ms", ("linger.ms",)),
        ("order", ("orders-0",)),
        ("NOT_LOADED", ()),
        ("", ()),
    ],
)
def test_case_and_separators_do_not_matter_and_both_packages_have_one_rule(name: str, close: tuple[str, ...]) -> None:
    assert spelling.close_names(name, KNOWN) == runtime_spelling.close_names(name, KNOWN) == close


def test_others_that_are_about_as_near_follow_the_nearest_up_to_the_requested_number() -> None:
    known = ("orders-10", "orders-1", "payments", "order-lines")
    assert spelling.close_names("orders-1", known, count=1) == ("orders-1",)
    assert spelling.close_names("orders-1", known, count=9) == ("orders-1", "orders-10")
    assert runtime_spelling.close_names("orders-1", known, count=9) == ("orders-1", "orders-10")
