from __future__ import annotations

import pytest
from hypothesis import HealthCheck, find, given, settings

from protocol_specs.errors import RecordBatchError
from protocol_specs.fuzzing import strategies
from protocol_specs.fuzzing.batch_rules import BATCH_RULES, NearlyValidBatch
from protocol_specs.records.control_records import EndTransactionMarker, end_transaction_marker
from protocol_specs.records.record_batch import Record, check_batch, read_records

QUICK = settings(max_examples=300, deadline=None, database=None, suppress_health_check=list(HealthCheck))


def read(batch: bytes) -> list[Record]:
    check_batch(batch)
    return read_records(batch)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.nearly_valid_batches())
def test_reading_a_broken_batch_raises_the_named_error(batch: NearlyValidBatch) -> None:
    with pytest.raises(RecordBatchError) as raised:
        read(batch.data)
    assert type(raised.value) is batch.error


@settings(max_examples=50, deadline=None)
@given(strategies.control_batches())
def test_a_control_batch_has_how_the_transaction_ended(drawn: tuple[bytes, EndTransactionMarker]) -> None:
    batch, marker = drawn
    header = check_batch(batch)
    assert (header.is_control, header.is_transactional) == (True, True)
    assert [end_transaction_marker(record) for record in read_records(batch)] == [marker]


@pytest.mark.parametrize("rule", ["the checksum is another one", "a record has a wrong length"])
def test_a_broken_batch_shrinks_to_one_small_record(rule: str) -> None:
    found = find(strategies.nearly_valid_batches(rules=[rule]), lambda _: True, settings=QUICK)
    assert found.rule == rule
    assert len(found.data) <= 61 + 16


def test_every_rule_is_named_once() -> None:
    assert len(BATCH_RULES) == len(set(BATCH_RULES)) == 10
