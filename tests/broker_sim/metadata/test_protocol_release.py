from __future__ import annotations

import pytest

from broker_sim.metadata.protocol_release import protocol_release


@pytest.mark.parametrize(
    ("own", "level", "name"),
    [
        ("3.9.2", 21, "3.9.2"), ("3.9.2", 20, "3.8.1"), ("3.9.2", 19, "3.7.2"), ("3.9.2", 18, "3.6.2"),
        ("3.9.2", 0, "3.9.2"), ("3.7.2", 19, "3.7.2"), ("4.3.1", 30, "4.3.1"),
    ],
)  # fmt: skip
def test_the_protocol_is_that_of_the_newest_release_below_the_level(own: str, level: int, name: str) -> None:
    assert protocol_release(own, level) == name
