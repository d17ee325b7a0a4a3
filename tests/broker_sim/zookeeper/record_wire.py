"""Send the wire cases to a real cluster of two brokers (ids 1 and 2, with ZooKeeper, just started); keep the responses.

python -m tests.broker_sim.zookeeper.record_wire RELEASE PORT-OF-BROKER-1 PORT-OF-BROKER-2
"""

from __future__ import annotations

import json
import socket
import struct
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from protocol_specs import registry, releases
from protocol_specs.messages.metadata import MetadataRequest
from tests.broker_sim.zookeeper.wire_cases import CONTROLLER, Cluster, all_cases

if TYPE_CHECKING:
    from protocol_specs.message import Message

RECORDED = Path(__file__).parent / "recorded"
TIMEOUT_S = 20


def send(port: int, request: Message, version: int) -> Message | str:
    """One request on a connection of its own."""
    flexible = type(request).is_flexible(version)
    header = struct.pack(">hhih", request.API_KEY, version, 1, 5) + b"probe" + (b"\0" if flexible else b"")
    frame = header + request.encode(version)
    with socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        with connection.makefile("rb") as stream:
            size = stream.read(4)
            if len(size) < 4:
                return "closed"
            response = stream.read(struct.unpack(">i", size)[0])
    return registry.response_type(request.API_KEY).decode(version, response[5 if flexible else 4 :])


def main(release: str, *ports: str) -> None:
    """Record all cases."""
    by_id = {1: int(ports[0]), 2: int(ports[1])}
    metadata = send(by_id[1], MetadataRequest(topics=[]), 1)
    assert not isinstance(metadata, str)
    controller = getattr(metadata, "controller_id")  # noqa: B009 - a message of one of many types
    table = releases.get(release, releases.Mode.ZOOKEEPER)
    cluster = Cluster(
        send=lambda who, request, version: send(
            by_id[controller if who == CONTROLLER else 3 - controller], request, version
        ),
        other=3 - controller,
        versions={key: item.highest for key, item in table.api_versions.items()},
    )
    text = json.dumps(dict(all_cases(cluster)), indent=1, sort_keys=True)
    RECORDED.mkdir(exist_ok=True)
    (RECORDED / f"{table.name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
