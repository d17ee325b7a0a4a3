from __future__ import annotations

from broker_sim.apis.offset_results import by_topic, errors_of, in_map_order
from protocol_specs.error_codes import ErrorCode

ORDERS, PAYMENTS = ("orders", b"o" * 16), ("payments", b"p" * 16)


def test_errors_are_listed_by_topic_in_the_order_of_their_first_partitions() -> None:
    items = [(ORDERS, 1), (PAYMENTS, 0), (ORDERS, 0)]
    codes = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.OFFSET_METADATA_TOO_LARGE]
    assert by_topic(items, codes, int) == [
        (ORDERS, [(1, ErrorCode.NONE), (0, ErrorCode.OFFSET_METADATA_TOO_LARGE)]),
        (PAYMENTS, [(0, ErrorCode.NONE)]),
    ]


def test_a_request_that_fails_has_one_error_everywhere() -> None:
    error = ErrorCode.NOT_COORDINATOR
    assert errors_of([(ORDERS, [2, 2]), (PAYMENTS, [])], int, error) == [
        (ORDERS, [(2, error), (2, error)]),
        (PAYMENTS, []),
    ]


def test_a_map_keeps_the_last_of_repeated_partitions() -> None:
    assert in_map_order([(ORDERS, (0, "first")), (ORDERS, (0, "last"))], lambda each: each[0]) == [
        (ORDERS, (0, "last"))
    ]
