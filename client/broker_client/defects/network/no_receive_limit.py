"""The client believes any size field, and waits for, or allocates, gigabytes.

The four bytes of a size may be the start of a TLS alert (0x15030300 is 352 MB), of an HTTP response, or garbage. A
client without a limit allocates a buffer of that size and dies, or reads on for a frame that never ends. A correct
client refuses a size below 0 or above its limit, closes the connection, and names what the bytes look like.
"""

from __future__ import annotations

from typing import Any, Final

from broker_client.core.network.network_client import NetworkClient
from broker_client.defects.defect import Defect


class BoundlessClient(NetworkClient):
    """Reads frames of any size."""

    def __init__(self, **collaborators: Any) -> None:
        super().__init__(**collaborators)
        self.selector._response_bytes_max = 2**31 - 1  # noqa: SLF001


DEFECT: Final = Defect(
    name="no-receive-limit",
    lesson=__doc__,
    source="kafka-python#3075",
    affected="kafka-python before 3.0.1",
    anomalies=("oversize-frame",),
    parts={"network_client": BoundlessClient},
)
