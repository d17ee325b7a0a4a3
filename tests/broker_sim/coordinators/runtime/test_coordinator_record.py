"""Records to bytes and back."""

import pytest

from broker_sim.coordinators.runtime.coordinator_record import CoordinatorRecord, Log
from protocol_specs.errors import UnknownRecordType
from tests.broker_sim.coordinators.runtime.counting_shard import record


@pytest.mark.parametrize("value", [7, None])
def test_a_record_survives_its_bytes(value):
    written = record("group", value)
    read = CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, *written.encode())
    assert (read.key, read.value) == (written.key, written.value)


def test_an_unknown_type_is_reported():
    with pytest.raises(UnknownRecordType):
        CoordinatorRecord.decode(Log.CONSUMER_OFFSETS, b"\x7f\x00", None)
