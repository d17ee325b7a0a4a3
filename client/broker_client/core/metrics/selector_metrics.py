"""Connections, bytes and the network thread's time. Mirrors Selector.SelectorMetrics.

A node's metrics begin with its first connection and stay. Kafka's thread blocks in select; ours takes turns on a
reactor: `select` is a loop iteration, `io-wait` the time between iterations, `io` the time that they take.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker_client.core.metrics.stats import NANOSECONDS, Avg, CumulativeSum, Max

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.registry import Metrics, Sensor
    from broker_client.core.producer.sender_loop import Runnable
    from broker_client.metrics import MetricName

__all__ = ["MeasuredRunnable", "SelectorMetrics"]

_S_IN_NS: Final = 1e9


class _NodeSensors:
    """The traffic of one node's connections."""

    __slots__ = ("latency", "received", "sent")

    def __init__(self, metrics: Metrics, selector: SelectorMetrics) -> None:
        self.sent = metrics.sensor(selector.all_sent)
        self.received = metrics.sensor(selector.all_received)
        self.latency = metrics.sensor()

    def register(self, selector: SelectorMetrics, node_id: int) -> None:
        """Register the metrics."""
        node = f"node-{node_id}"
        selector.add_meter(self.sent, "request", "requests sent", counts=True, node_id=node)
        selector.sizes(self.sent, node_id=node)
        selector.add_meter(self.sent, "outgoing-byte", "outgoing bytes", node_id=node)
        selector.add_meter(self.received, "response", "responses received", counts=True, node_id=node)
        selector.add_meter(self.received, "incoming-byte", "incoming bytes", node_id=node)
        selector.add_average_and_max(self.latency, "request-latency", "", "", node_id=node)


class SelectorMetrics:
    """One selector's sensors; times are those of the turn."""

    def __init__(self, metrics: Metrics, connection_count: Callable[[], int], *, prefix: str = "producer") -> None:
        """`prefix` begins the names of the two groups: that of the client, and that of its nodes."""
        self._metrics = metrics
        self._group = f"{prefix}-metrics"
        self._node_group = f"{prefix}-node-metrics"
        self._nodes: dict[int, _NodeSensors] = {}
        self._closed = self.meter("connection-close", "connections closed")
        self._created = self.meter("connection-creation", "new connections established")
        self._authenticated = self.meter("successful-authentication", "connections with successful authentication")
        self._reauthenticated = self.meter("successful-reauthentication", "successful re-authentication of connections")
        self._authenticated_for_good = metrics.sensor()
        self._authenticated_for_good.add(
            self._name(
                "successful-authentication-no-reauth-total",
                "The total number of connections with successful authentication where the client does not support "
                "re-authentication",
            ),
            CumulativeSum,
        )
        self._refused = self.meter("failed-authentication", "connections with failed authentication")
        self._refused_again = self.meter("failed-reauthentication", "failed re-authentication of connections")
        again = "latency observed due to re-authentication"
        self._reauthentication_latency = self.average_and_max(
            "reauthentication-latency", f"The average {again}", f"The max {again}"
        )
        operations = "network operations (reads or writes) on all connections"
        io = self.meter("network-io", operations, counts=True)
        # What is measured in bytes is counted, too: one sensor does for both.
        self.all_sent = self.meter("outgoing-byte", "outgoing bytes sent to all servers", io)
        self.add_meter(self.all_sent, "request", "requests sent", counts=True)
        self.sizes(self.all_sent)
        self.all_received = self.meter("incoming-byte", "bytes read off all sockets", io)
        self.add_meter(self.all_received, "response", "responses received", counts=True)
        self._select_time = self.meter("select", "times the I/O layer checked for new I/O to perform", counts=True)
        waits = (
            "The average length of time the I/O thread spent waiting for a socket ready for reads or writes in "
            "nanoseconds."
        )
        self._time(self._select_time, "io-wait", waits, "waiting")
        self._io_time = metrics.sensor()
        self._time(
            self._io_time, "io", "The average length of time for I/O per select call in nanoseconds.", "doing I/O"
        )
        name = self._name("connection-count", "The current number of active connections.")
        metrics.gauge(name, lambda _: float(connection_count()))

    def connected(self, node_id: int, now_ms: int, *, authenticated: bool) -> None:
        """A connection is there; `authenticated` when that took more than TCP's handshake."""
        self._node(node_id)
        self._created.record(1.0, now_ms)
        if authenticated:
            self._authenticated.record(1.0, now_ms)
            self._authenticated_for_good.record(1.0, now_ms)

    def closed(self, now_ms: int) -> None:
        """A connection, or the attempt at one, has ended."""
        self._closed.record(1.0, now_ms)

    def refused(self, now_ms: int, *, again: bool) -> None:
        """The two did not accept each other; `again` when they had before, on the same connection."""
        (self._refused_again if again else self._refused).record(1.0, now_ms)

    def reauthenticated(self, took_ms: int, now_ms: int) -> None:
        """The session of a connection was prolonged."""
        self._reauthenticated.record(1.0, now_ms)
        self._reauthentication_latency.record(float(took_ms), now_ms)

    def sent(self, node_id: int, size_bytes: int, now_ms: int) -> None:
        """A request was handed to the network."""
        self._node(node_id).sent.record(size_bytes, now_ms)

    def received(self, node_id: int, size_bytes: int, now_ms: int) -> None:
        """A whole response has come."""
        self._node(node_id).received.record(size_bytes, now_ms)

    def latency(self, node_id: int, latency_ms: int, now_ms: int) -> None:
        """Record the milliseconds that a node took to respond to a Produce request."""
        node = self._nodes.get(node_id)
        if node is not None:
            node.latency.record(latency_ms, now_ms)

    def turn(self, waited_s: float, took_s: float, now_ms: int) -> None:
        """The network thread has waited and then run an iteration."""
        self._select_time.record(waited_s * _S_IN_NS, now_ms)
        self._io_time.record(took_s * _S_IN_NS, now_ms)

    def _node(self, node_id: int) -> _NodeSensors:
        sensors = self._nodes.get(node_id)
        if sensors is None:
            made = sensors = self._nodes[node_id] = _NodeSensors(self._metrics, self)
            self._metrics.later(lambda: made.register(self, node_id))
        return sensors

    # How the sensors are made

    def meter(self, name: str, what: str, *parents: Sensor, counts: bool = False, **tags: str) -> Sensor:
        """A sensor with a rate and a total, of values or of how many there were."""
        sensor = self._metrics.sensor(*parents)
        self.add_meter(sensor, name, what, counts=counts, **tags)
        return sensor

    def add_meter(self, sensor: Sensor, name: str, what: str, *, counts: bool = False, **tags: str) -> None:
        """A rate and a total of what a sensor takes in."""
        metrics = self._metrics
        group = self._node_group if tags else self._group
        sensor.add_meter(
            metrics.name(f"{name}-rate", group, f"The number of {what} per second", **tags),
            metrics.name(f"{name}-total", group, f"The total number of {what}", **tags),
            counts=counts,
        )

    def sizes(self, sensor: Sensor, **tags: str) -> None:
        """The average and the largest size of requests."""
        metrics = self._metrics
        group = self._node_group if tags else self._group
        average = metrics.name("request-size-avg", group, "The average size of requests sent.", **tags)
        sensor.add(average, Avg)
        largest = metrics.name("request-size-max", group, "The maximum size of any request sent.", **tags)
        sensor.add(largest, Max)

    def average_and_max(self, name: str, average: str, largest: str) -> Sensor:
        """A sensor with an average and a maximum."""
        sensor = self._metrics.sensor()
        self.add_average_and_max(sensor, name, average, largest)
        return sensor

    def add_average_and_max(self, sensor: Sensor, name: str, average: str, largest: str, **tags: str) -> None:
        """The average and the maximum of what a sensor takes in."""
        metrics = self._metrics
        group = self._node_group if tags else self._group
        sensor.add(metrics.name(f"{name}-avg", group, average, **tags), Avg)
        sensor.add(metrics.name(f"{name}-max", group, largest, **tags), Max)

    def _time(self, sensor: Sensor, name: str, average: str, doing: str) -> None:
        sensor.add(self._name(f"{name}-time-ns-avg", average), Avg)
        sensor.add_meter(
            self._name(f"{name}-ratio", f"The fraction of time the I/O thread spent {doing}"),
            self._name(f"{name}-time-ns-total", f"The total time the I/O thread spent {doing}"),
            unit=NANOSECONDS,
        )

    def _name(self, name: str, description: str) -> MetricName:
        return self._metrics.name(name, self._group, description)


class MeasuredRunnable:
    """Runs the iterations of a Sender and measures them."""

    __slots__ = ("_ended_s", "_metrics", "_runnable", "_seconds")

    def __init__(self, runnable: Runnable, metrics: SelectorMetrics, seconds: Callable[[], float]) -> None:
        self._runnable = runnable
        self._metrics = metrics
        self._seconds = seconds
        self._ended_s = seconds()

    def run_once(self, now_ms: int) -> int:
        """Run one loop iteration; return the milliseconds until the next is due."""
        return self.measure(self._runnable.run_once, now_ms)

    def measure(self, turn: Callable[[int], int], now_ms: int) -> int:
        """Run one loop iteration and record its duration."""
        began_s = self._seconds()
        try:
            return turn(now_ms)
        finally:
            waited_s, self._ended_s = began_s - self._ended_s, self._seconds()
            took_s = self._ended_s - began_s
            # A clock may be set back.
            self._metrics.turn(waited_s if waited_s > 0 else 0.0, took_s if took_s > 0 else 0.0, now_ms)
