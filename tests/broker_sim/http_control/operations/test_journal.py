from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.request import urlopen

from tests.broker_sim.http_control.sent_records import ONE_BROKER, SECONDS_MAX, send, servers_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker_sim.http_control.conftest import Control


def test_events_are_queried_and_streamed(control: Control) -> None:
    path = control.new_cluster(**ONE_BROKER)
    found = control.get(f"{path}/events?kind=LeaderElected&where=topic=orders,partition=1")
    assert [each["partition"] for each in found["events"]] == [1]
    with urlopen(f"{control.url}{path}/events/stream?after=0", timeout=SECONDS_MAX) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        kinds = (event["kind"] for event in streamed(stream))
        assert next(kinds) == found_kind(control, path, 1)
        send(servers_of(control, path))
        assert "BatchAppended" in kinds
    requests = control.get(f"{path}/requests?api=Produce")
    assert [(each["broker"], each["body"]) for each in requests] == [(1, None)]
    [request] = control.get(f"{path}/requests?api=Produce&bodies=true")
    assert request["body"]["topicData"][0]["partitionData"][0]["index"] == 0


def found_kind(control: Control, path: str, sequence: int) -> str:
    kind: str = control.get(f"{path}/events?after={sequence - 1}&limit=1")["events"][0]["kind"]
    return kind


def streamed(stream: Any) -> Iterator[dict[str, Any]]:
    """Return the events of a stream; a blank line ends each."""
    for line in stream:
        if line.startswith(b"data: "):
            yield json.loads(line[6:])
