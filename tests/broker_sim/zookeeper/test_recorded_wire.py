"""The responses of real brokers with ZooKeeper, case by case, against ours."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster
from broker_sim.rpc.plain_call import PlainCalls
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor
from tests.broker_sim.zookeeper import wire_cases

if TYPE_CHECKING:
    from protocol_specs.message import Message

RECORDED = {
    path.stem: json.loads(path.read_text("utf-8")) for path in (Path(__file__).parent / "recorded").glob("*.json")
}
GAPS = "before 2.3 a topic could lack partitions in between, which ours cannot"
ACCEPTED = {
    ("1.1.1", "CreateTopics a gap"): GAPS,
    ("1.1.1", "CreateTopics other sizes"): GAPS,
}
_RESPONSES: dict[str, dict[str, Any]] = {}


def responses_of(release: str) -> dict[str, Any]:
    """Our responses, to the same sequence of requests."""
    if release not in _RESPONSES:
        reactor = VirtualReactor()
        config = {"zookeeper.connect": "zookeeper:2181"} if release.startswith("3") else {}
        cluster = Cluster(
            reactor=reactor, streams=RandomStreams(1), brokers=2, config=config, release=release, listen=False
        )
        cluster.start()
        reactor.run_for(ms=10)

        def send(who: str, request: Message, version: int) -> Any:
            broker = cluster.brokers[1 if who == wire_cases.CONTROLLER else 2]
            requested = type(request).decode(version, request.encode(version))
            response: Any = PlainCalls(broker).call(requested, version, client_id="probe")
            if isinstance(response, Deferred):
                response = reactor.run_until(response, deadline_ms=60_000)
            reactor.run_for(ms=300)
            return type(response).decode(version, response.encode(version))

        table = cluster.brokers[1].release.api_versions
        versions = {key: item.highest for key, item in table.items()}
        requested = wire_cases.Cluster(send=send, other=2, versions=versions)
        _RESPONSES[release] = dict(wire_cases.all_cases(requested))
        cluster.close()
    return _RESPONSES[release]


@pytest.mark.parametrize(("release", "name"), [(release, name) for release in RECORDED for name in RECORDED[release]])
def test_the_response_is_that_of_the_real_broker(release: str, name: str) -> None:
    same = responses_of(release)[name] == RECORDED[release][name]
    if (release, name) in ACCEPTED:
        assert not same, "it need not be accepted any more"
    else:
        assert responses_of(release)[name] == RECORDED[release][name]


def test_every_age_is_recorded() -> None:
    assert {"1.1.1", "2.3.1", "2.7.2", "3.7.2"} <= RECORDED.keys()
