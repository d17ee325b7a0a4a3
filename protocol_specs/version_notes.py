"""The meaning of versions whose bytes equal those of the version before, such as a new error code.

Kafka also raises a version when both sides must agree on behaviour without a field. Every version with the layout of
the version before has its reason here, as in Kafka's message definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

_THROTTLED_AFTER: Final = "over quota, the response is sent first and then the channel is muted (KIP-219)"
_FENCED: Final = "may return PRODUCER_FENCED (KIP-588)"
_ABORTABLE: Final = "may return TRANSACTION_ABORTABLE (KIP-890)"
_QUOTA: Final = "may return THROTTLING_QUOTA_EXCEEDED (KIP-599)"
_USER_RESOURCES: Final = "knows the resource type USER (KIP-373)"
_FIRST_STABLE: Final = "the first version that is not a preview; 0 was withdrawn (KIP-932)"
_FEATURES_FROM_0: Final = "supported features may begin at level 0 (KAFKA-17011)"

_NOTES: Final[Mapping[int, Mapping[int, str]]] = {
    0: {
        4: "may return KAFKA_STORAGE_ERROR (KIP-112)",
        6: _THROTTLED_AFTER,
        7: "records may be compressed with zstd (KIP-110)",
        11: _ABORTABLE,
        12: "a transactional write adds its partition to the transaction by itself (KIP-890)",
    },
    1: {
        2: "may return message sets of magic 1 (KIP-31, KIP-32)",
        6: "may return KAFKA_STORAGE_ERROR (KIP-112)",
        8: _THROTTLED_AFTER,
        10: "may return records compressed with zstd (KIP-110)",
        14: "may return OFFSET_MOVED_TO_TIERED_STORAGE (KIP-405)",
    },
    2: {
        3: _THROTTLED_AFTER,
        5: "may return OFFSET_NOT_AVAILABLE (KIP-207)",
        7: "timestamp -3 requests the offset of the largest timestamp (KIP-734)",
        8: "timestamp -4 requests the earliest local offset (KIP-405)",
        9: "timestamp -5 requests the last tiered offset (KIP-1005)",
        11: "timestamp -6 requests the earliest offset that is not yet tiered (KIP-1023)",
    },
    3: {6: _THROTTLED_AFTER},
    8: {
        4: _THROTTLED_AFTER,
        9: "also for consumer groups; may return STALE_MEMBER_EPOCH and GROUP_ID_NOT_FOUND (KIP-848)",
    },
    9: {1: "reads __consumer_offsets; version 0 read ZooKeeper", 4: _THROTTLED_AFTER},
    10: {2: _THROTTLED_AFTER, 5: _ABORTABLE, 6: "key type 2 requests the coordinator of a share partition (KIP-932)"},
    11: {
        3: _THROTTLED_AFTER,
        4: "a new member receives its id with MEMBER_ID_REQUIRED and joins again with it (KIP-394)",
    },
    12: {2: _THROTTLED_AFTER},
    13: {2: _THROTTLED_AFTER},
    14: {2: _THROTTLED_AFTER},
    15: {2: _THROTTLED_AFTER},
    16: {2: _THROTTLED_AFTER},
    17: {1: "tokens follow in SaslAuthenticate requests, not bare on the connection (KIP-152)"},
    18: {2: _THROTTLED_AFTER, 4: _FEATURES_FROM_0},
    19: {
        3: _THROTTLED_AFTER,
        4: "partition count and replication factor may be -1: the broker's defaults (KIP-464)",
        6: _QUOTA,
    },
    20: {2: _THROTTLED_AFTER, 3: "may return TOPIC_DELETION_DISABLED (KIP-322)"},
    21: {1: _THROTTLED_AFTER},
    22: {1: _THROTTLED_AFTER, 4: _FENCED, 5: _ABORTABLE},
    24: {1: _THROTTLED_AFTER, 2: _FENCED, 5: _ABORTABLE},
    25: {1: _THROTTLED_AFTER, 2: _FENCED, 4: _ABORTABLE},
    26: {1: _THROTTLED_AFTER, 2: _FENCED, 4: _ABORTABLE},
    28: {
        1: _THROTTLED_AFTER,
        4: _ABORTABLE,
        5: "adds the group's offsets to the transaction by itself (KIP-890)",
    },
    29: {3: _USER_RESOURCES},
    30: {3: _USER_RESOURCES},
    31: {3: _USER_RESOURCES},
    32: {2: _THROTTLED_AFTER},
    33: {1: _THROTTLED_AFTER},
    34: {1: _THROTTLED_AFTER},
    35: {1: _THROTTLED_AFTER},
    37: {1: _THROTTLED_AFTER, 3: _QUOTA},
    38: {1: _THROTTLED_AFTER},
    39: {1: _THROTTLED_AFTER},
    40: {1: _THROTTLED_AFTER},
    41: {1: _THROTTLED_AFTER},
    42: {1: _THROTTLED_AFTER},
    62: {4: _FEATURES_FROM_0},
    76: {1: _FIRST_STABLE},
    77: {1: _FIRST_STABLE},
    79: {1: _FIRST_STABLE},
}


def version_note(api_key: int | None, version: int) -> str | None:
    """The note of a version of an API; None if it has none."""
    return None if api_key is None else _NOTES.get(api_key, {}).get(version)


def version_notes(api_key: int | None, first: int, second: int) -> dict[int, str]:
    """The notes of the versions above the lower of two, up to the higher one."""
    low, high = sorted((first, second))
    notes = {version: version_note(api_key, version) for version in range(low + 1, high + 1)}
    return {version: note for version, note in notes.items() if note is not None}
