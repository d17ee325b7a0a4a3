from __future__ import annotations

from typing import TYPE_CHECKING, Any

from twisted.internet.defer import Deferred

from broker_sim.cluster import Cluster
from broker_sim.control.events import ConnectionClosed, ControllerElected, Detail
from broker_sim.http_control import event_stream
from broker_sim.http_control.event_stream import FLUSH_S, KEEP_ALIVE_S, stream_events
from sim_runtime.random_streams import RandomStreams
from sim_runtime.virtual_reactor import VirtualReactor

if TYPE_CHECKING:
    import pytest


class Reader:
    """Stands for a request whose response is a stream."""

    def __init__(self) -> None:
        self.written = b""
        self.producer: Any = None
        self.finished: Deferred[None] = Deferred()

    def setHeader(self, name: str, value: str) -> None:  # noqa: N802 - twisted.web
        """Do nothing."""

    def notifyFinish(self) -> Deferred[None]:  # noqa: N802 - twisted.web
        return self.finished

    def registerProducer(self, producer: object, streaming: bool) -> None:  # noqa: ARG002, N802 - twisted.web
        self.producer = producer

    def write(self, data: bytes) -> None:
        self.written += data


def opened(
    kind: str | None = None, after: int | None = None, detail: Detail = Detail.FULL
) -> tuple[VirtualReactor, Cluster, Any]:
    reactor = VirtualReactor()
    cluster = Cluster(reactor=reactor, brokers=1, streams=RandomStreams(0), listen=False)
    reader: Any = Reader()
    stream_events(reader, cluster, after=after, kind=kind, detail=detail)
    return reactor, cluster, reader


def elected(cluster: Cluster, node: int) -> None:
    cluster.journal.append(ControllerElected(time_us=0, broker_id=node, controller_epoch=1))


def test_events_are_sent_in_groups_and_of_one_kind() -> None:
    reactor, cluster, reader = opened("ControllerElected", after=0)
    elected(cluster, 1)
    elected(cluster, 2)
    assert reader.written == b": events follow\n\n"
    reactor.run_for(ms=FLUSH_S * 1000)
    assert reader.written.count(b"event: ControllerElected\n") == 2
    assert b'"broker_id":2' in reader.written


def test_a_slow_reader_loses_the_oldest_and_is_informed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "WAITING_MAX", 3)
    reactor, cluster, reader = opened()
    reader.producer.pauseProducing()
    for node in range(5):
        elected(cluster, node)
    reactor.run_for(ms=1000)
    assert b"data" not in reader.written
    reader.producer.resumeProducing()
    reactor.run_for(ms=0)
    assert b": 2 events were dropped: the reader is slow\n\n" in reader.written
    assert reader.written.count(b"data: ") == 3


def test_an_idle_stream_stays_open_and_a_closed_one_ends() -> None:
    reactor, cluster, reader = opened()
    reactor.run_for(ms=KEEP_ALIVE_S * 1000)
    assert reader.written.endswith(b": the stream is open\n\n")
    reader.finished.callback(None)
    elected(cluster, 1)
    reactor.run_for(ms=KEEP_ALIVE_S * 1000)
    assert b"data" not in reader.written


def test_a_stream_of_the_cluster_leaves_out_the_traffic() -> None:
    reactor, cluster, reader = opened(detail=Detail.CLUSTER)
    cluster.journal.append(ConnectionClosed(time_us=0, broker_id=1, connection_id="c", reason="r"))
    elected(cluster, 1)
    reactor.run_for(ms=FLUSH_S * 1000)
    assert reader.written.count(b"data: ") == 1
