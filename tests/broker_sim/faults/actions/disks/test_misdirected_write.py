from __future__ import annotations

from typing import Any


def test_the_next_write_goes_over_earlier_bytes(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    made.produce(2)
    size = len(made.content())
    fire(made, {"misdirected_write": {"broker": 1, "topic": "t", "place": 0.5}})
    made.produce(3)
    content = made.content()
    first, over, behind = content[: size // 2], content[size // 2 : size], content[size:]
    assert int.from_bytes(over[:8]) == 2, "the base offset of the third batch lies where the second began"
    assert behind == bytes(len(behind))
    assert len(first) == len(over) == len(behind)
    made.start_again()
    assert len(made.values(1)) == 2
    assert made.values(1) == [1, 3]
