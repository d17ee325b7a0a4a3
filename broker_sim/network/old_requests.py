"""Request headers as brokers before 2.4 read them. Mirrors RequestHeader before KIP-482, and RequestChannel.Request of
0.8 and 0.9.

These headers have no tags, independent of the version that they name. Before 0.10 the broker does not check that
version either: it reads a request of a later version as its own newest version, and responds in that one.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Final

from protocol_specs.api_key import ApiKey
from protocol_specs.framing import decode_request_header
from protocol_specs.messages.headers import RequestHeader

if TYPE_CHECKING:
    from collections.abc import Mapping

    from protocol_specs.message import Buffer

__all__ = ["read_old_header"]

_WITH_CLIENT_ID: Final = 1
_KEY_AND_VERSION: Final = struct.Struct(">hh")


def read_old_header(
    frame: Buffer, enabled: Mapping[ApiKey, range], *, versions_are_checked: bool
) -> tuple[RequestHeader, int]:
    """Return the header and the position of the body; without a check, the version is set to the nearest served one.

    Raises:
        MessageDecodeError: The header is truncated or malformed.
    """
    if len(frame) >= _KEY_AND_VERSION.size and _KEY_AND_VERSION.unpack_from(frame) == (ApiKey.CONTROLLED_SHUTDOWN, 0):
        return decode_request_header(frame)
    header, position = RequestHeader.decode_from(_WITH_CLIENT_ID, frame, 0)
    served = enabled.get(header.request_api_key)  # type: ignore[call-overload]
    if served is not None and not versions_are_checked:
        header.request_api_version = min(max(header.request_api_version, served[0]), served[-1])
    return header, position
