from __future__ import annotations

from typing import Any

import pytest

from protocol_specs.errors import ProtocolError
from protocol_specs.records.batch_peek import check_batch

ROT = {"bit_rot": {"broker": 1, "topic": "t", "place": 0.99, "bit": 3}}


def served(made: Any, broker: int = 1) -> list[bytes]:
    log = made.cluster.log_of(broker, *made.topic)
    return [batch.data for batch in log.read(0, max_bytes=1 << 20)]


def test_a_consumer_gets_the_record_as_it_is_stored(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    made.produce(2)
    fire(made, ROT)
    first, second = served(made)
    check_batch(first, 0)
    with pytest.raises(ProtocolError):
        check_batch(second, 0)


def test_recovery_truncates_there_and_an_orderly_stop_keeps_it(on_disk: Any, fire: Any) -> None:
    made = on_disk()
    made.produce(1)
    made.produce(2)
    fire(made, ROT)
    made.start_again(orderly=True)
    assert len(served(made)) == 2
    killed = on_disk()
    killed.produce(1)
    killed.produce(2)
    fire(killed, ROT)
    killed.start_again()
    assert killed.values(1) == [1]


def test_a_follower_does_not_append_it(on_disk: Any, fire: Any) -> None:
    made = on_disk(2)
    made.produce(1)
    made.hold_fetches(2)
    made.produce(2, acks=1)
    fire(made, ROT)
    made.release_fetches(2)
    made.run(ms=60_000)
    assert made.values(2) == [1]
    assert made.isr() == (1,)


def test_nothing_happens_without_a_file(on_disk: Any, fire: Any) -> None:
    report = fire(on_disk(), {"bit_rot": {"broker": 1, "topic": "none"}})
    assert (report.fired, report.problem is not None) == (0, True)
