from __future__ import annotations

from typing import Any


def test_zeros_follow_the_first_part_of_the_next_write(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    size = len(made.content())
    fire(made, {"torn_write": {"broker": 1, "topic": "t", "place": 0.5}})
    made.produce(2)
    torn = made.content()[size:]
    assert int.from_bytes(torn[:8]) == 1, "it begins with its base offset"
    assert any(torn[size // 2 - 4 : size // 2])
    assert torn[size // 2 :] == bytes(size - size // 2)
    made.start_again()
    assert made.values(1) == [1]


def test_the_place_is_drawn_and_reported(on_disk: Any, fire: Any) -> None:
    report = fire(on_disk(), {"torn_write": {"broker": 1, "topic": "t"}})
    assert 0 <= report.decisions["act.place@1"] <= 1
