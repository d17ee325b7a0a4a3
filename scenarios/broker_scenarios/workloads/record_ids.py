"""The id of a record whose value belongs to the user: a header with the id in eight bytes, big endian, and the run.

A load that the harness generates has the id in its values (workloads.values). A user's values stay as they are, and two
records may have equal ones: the header is the only place that traces a stored record, and each copy of it, to its send.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from broker_scenarios.workloads.values import value_id_of

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ID_BYTES", "ID_HEADER", "record_id_of"]

ID_HEADER: Final = "broker_sim.id"
"""The key of the header; it is the last one of its record."""
ID_BYTES: Final = 8
_ID: Final = struct.Struct(">q")


def record_id_of(value: bytes | memoryview | None, headers: Sequence[tuple[str, bytes | None]]) -> int:
    """Return the id in the last header, else that of the value; -1 for a record that no load has sent."""
    if headers:
        key, found = headers[-1]
        if key == ID_HEADER and found is not None and len(found) >= ID_BYTES:
            (record_id,) = _ID.unpack_from(found)
            return int(record_id)
    return value_id_of(value)
