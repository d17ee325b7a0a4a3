from broker_scenarios.workloads.record_ids import ID_HEADER, record_id_of
from broker_scenarios.workloads.values import value_bytes


def test_the_id_is_in_the_last_header_or_else_in_the_value():
    mark = (ID_HEADER, bytes(7) + b"\x05run-1")
    assert record_id_of(None, [("other", b"x"), mark]) == 5
    assert record_id_of(value_bytes(9, 20), [mark, ("later", None)]) == 9
    assert record_id_of(value_bytes(9, 20), ()) == 9
    assert record_id_of(b"x", [(ID_HEADER, None)]) == -1
