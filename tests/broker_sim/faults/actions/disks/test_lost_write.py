from __future__ import annotations

from typing import Any

LOST = {"lost_write": {"broker": "leader of t-0", "topic": "t"}}


def test_the_next_write_is_served_and_gone_after_a_start(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    fire(made, LOST)
    made.produce(2)
    made.produce(3)
    assert made.values(1) == [1, 2, 3]
    made.start_again()
    # Recovery truncates at the zeros: what was written behind them goes too.
    assert made.values(1) == [1]


def test_with_an_until_every_write_is_lost_up_to_it(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    size = len(made.content())
    fire(made, LOST, until={"at_ms": 60_000})
    made.produce(2)
    made.produce(3)
    assert made.content()[size:] == bytes(2 * size)


def test_a_lost_snapshot_is_made_anew(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    fire(made, {"lost_write": {"broker": 1, "topic": "t", "partition": 0, "file": "snapshot"}})
    made.start_again(orderly=True)
    assert made.values(1) == [1]
    assert any(made.content("snapshot"))
