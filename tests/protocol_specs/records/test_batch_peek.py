from __future__ import annotations

from protocol_specs.records.batch_peek import increment_sequence


def test_a_sequence_wraps_as_javas_numbers_do_behind_a_hostile_offset_delta() -> None:
    # The result of Kafka's lastSequence for base sequence 7.
    assert increment_sequence(7, -2_147_483_644) == 11
    assert increment_sequence(7, -2_147_483_647) == 8
