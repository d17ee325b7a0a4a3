"""Many connections, one poll: connects, writes and reads, and reports the events. Mirrors Selector.

The reactor does the waiting. What it delivers is staged, and `on_event` is called so that the owner polls soon; `poll`
itself never blocks, it only turns what is staged into this poll's results. As in Kafka, a poll returns at most one
completed receive per channel, and closes at most one idle connection.

Kafka's poll reads the sockets itself before any time-out. A reactor makes the calls that are due before it reads: in a
process that stood still, the response to an overdue request may be in the socket already. See `has_read_since`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from twisted.internet.error import ConnectionClosed

from broker_client.core.network.channel_builder import PLAINTEXT_CHANNELS
from broker_client.core.network.host_addresses import HostAddresses
from broker_client.core.network.kafka_channel import ChannelState
from broker_client.errors import IllegalState
from protocol_specs.framing import FrameReader

if TYPE_CHECKING:
    from collections.abc import Callable

    from broker_client.core.metrics.selector_metrics import SelectorMetrics
    from broker_client.core.network.channel_builder import ChannelBuilder
    from broker_client.core.network.kafka_channel import KafkaChannel
    from broker_client.errors import AuthenticationFailed
    from sim_runtime.interfaces import IReactor

__all__ = ["Disconnection", "NetworkReceive", "Selector"]

RESPONSE_BYTES_MAX: Final = 100 * 1024 * 1024
RESPONSE_OPTION: Final = "broker_client.core.network.selector.RESPONSE_BYTES_MAX"
NEVER_MS: Final = 1 << 62
# The set-up time-out is kept by ClusterConnectionStates; Twisted's own must never come first.
_CONNECT_TIMEOUT_S: Final = 3600.0
# What stands before every frame.
_SIZE_BYTES: Final = 4


@dataclass(slots=True)
class NetworkReceive:
    """A whole frame from a node."""

    node_id: int
    payload: bytes


@dataclass(slots=True, kw_only=True)
class Disconnection:
    """A connection that ended: in which state it was, and why, in words."""

    node_id: int
    state: ChannelState
    reason: str
    failure: AuthenticationFailed | None = None
    """Given in the state AUTHENTICATION_FAILED."""


class Selector:
    """The results of the latest poll are in `completed_sends`, `completed_receives`, `connected`, `disconnected`."""

    def __init__(
        self,
        *,
        reactor: IReactor,
        max_idle_ms: int,
        on_event: Callable[[], None],
        response_bytes_max: int = RESPONSE_BYTES_MAX,
        channel_builder: ChannelBuilder = PLAINTEXT_CHANNELS,
    ) -> None:
        self.completed_sends: list[int] = []
        self.completed_receives: list[NetworkReceive] = []
        self.connected: list[int] = []
        self.disconnected: list[Disconnection] = []
        self.awaited_write_completed = False
        self.connections_closed = 0
        self.sensors: SelectorMetrics | None = None
        self._reactor = reactor
        self._max_idle_ms = max_idle_ms
        self._on_event = on_event
        self._response_bytes_max = response_bytes_max
        self._channel_builder = channel_builder
        self._addresses = HostAddresses(reactor)
        self._channels: dict[int, KafkaChannel] = {}
        self._last_active_ms: dict[int, int] = {}  # least recently used first
        self._with_staged: dict[int, None] = {}
        self._ending: dict[int, Disconnection] = {}
        self._written: list[int] = []
        self.on_written: Callable[[int], None] | None = None
        """Called with the node of a completed send at once; the next poll reports it, too."""
        # A completed send calls `on_event` only if a caller waits for it: most writes change nothing.
        self._write_awaited: dict[int, None] = {}
        self._newly_connected: list[int] = []
        self._newly_disconnected: list[Disconnection] = []
        self._read_ms = -NEVER_MS
        self._is_reading = False

    def connect(self, node_id: int, host: str, port: int, *, send_buffer_bytes: int, receive_buffer_bytes: int) -> None:
        """Begin a connection; raises IllegalState when the node has one."""
        if node_id in self._channels:
            raise IllegalState(f"there is already a connection for node {node_id}")
        reader = FrameReader(limit_bytes=self._response_bytes_max, option=RESPONSE_OPTION)
        channel, factory = self._channel_builder.build(
            node_id=node_id, host=host, port=port, events=self, reader=reader, reactor=self._reactor
        )
        channel.set_socket_buffers(send_buffer_bytes, receive_buffer_bytes)
        self._channels[node_id] = channel
        channel.connector = self._addresses.connect(node_id, host, port, factory, _CONNECT_TIMEOUT_S)

    def send(self, node_id: int, frame: bytes) -> None:
        """Write a frame; when the node is gone the next poll reports it as disconnected."""
        channel = self._channels.get(node_id)
        if channel is None or channel.state is not ChannelState.READY:
            self._report(Disconnection(node_id=node_id, state=ChannelState.FAILED_SEND, reason="not connected"))
            return
        channel.send(frame)
        now_ms = self._touch(node_id)
        if self.sensors is not None:
            self.sensors.sent(node_id, len(frame), now_ms)

    def poll(self, now_ms: int) -> bool:
        """Turn staged events into results; return True if there is more for a next poll."""
        self.completed_sends, self._written = self._written, []
        self.awaited_write_completed = False
        for node_id in self.completed_sends:
            if node_id in self._write_awaited:
                del self._write_awaited[node_id]
                self.awaited_write_completed = True
        self.connected, self._newly_connected = self._newly_connected, []
        self.completed_receives = []
        for node_id in list(self._with_staged) if self._with_staged else ():
            channel = self._channels[node_id]
            payload = channel.staged.popleft()
            self.completed_receives.append(NetworkReceive(node_id, payload))
            if self.sensors is not None:
                self.sensors.received(node_id, len(payload) + _SIZE_BYTES, now_ms)
            if not channel.staged:
                del self._with_staged[node_id]
                ended = self._ending.pop(node_id, None)
                if ended is not None:
                    self._forget(node_id)
                    self._newly_disconnected.append(ended)
        self._close_one_idle(now_ms)
        self.disconnected, self._newly_disconnected = self._newly_disconnected, []
        return self.has_events

    def await_write(self, node_id: int) -> None:
        """Call `on_event` once the node's pending send is written."""
        self._write_awaited[node_id] = None

    @property
    def has_events(self) -> bool:
        """True if a poll would return something."""
        return bool(self._with_staged or self._newly_connected or self._newly_disconnected)

    def has_read_since(self, due_ms: int, now_ms: int) -> bool:
        """True if the reactor has read the sockets since `due_ms`; else it does, and `on_event` is called behind it."""
        if self._read_ms >= due_ms:
            return True
        if not self._is_reading:
            self._is_reading = True
            # The calls of other threads run just before the calls that are due, and a call that they make
            # among those: only the second comes after a look at the sockets.
            call_later = self._reactor.callLater
            call_later(0, call_later, 0, self._has_read, now_ms)
        return False

    @property
    def connection_count(self) -> int:
        """Connections that are there or are being made."""
        return len(self._channels)

    def is_channel_ready(self, node_id: int) -> bool:
        """True if the node's connection is there."""
        channel = self._channels.get(node_id)
        return channel is not None and channel.state is ChannelState.READY

    def mute(self, node_id: int) -> None:
        """Read no more from a node."""
        self._channels[node_id].mute()

    def unmute(self, node_id: int) -> None:
        """Read from a node again."""
        self._channels[node_id].unmute()

    def close(self, node_id: int) -> None:
        """Drop a node's connection at once; it is not reported."""
        self._drop(node_id, flush=False)
        self._newly_disconnected = [one for one in self._newly_disconnected if one.node_id != node_id]

    def close_all(self) -> None:
        """Close every connection, what was written going out first."""
        for node_id in list(self._channels):
            self._drop(node_id, flush=True)

    def next_idle_close_ms(self, now_ms: int) -> int:
        """How long until a connection has been idle for too long."""
        if self._max_idle_ms < 0 or not self._last_active_ms:
            return NEVER_MS
        oldest_ms = next(iter(self._last_active_ms.values()))
        return max(oldest_ms + self._max_idle_ms - now_ms, 0)

    # For channels: see ChannelEvents.

    def channel_connected(self, channel: KafkaChannel) -> None:
        """Stage: connected."""
        self._addresses.connected(channel.node_id)
        now_ms = self._touch(channel.node_id)
        if self.sensors is not None:
            authenticated = self._channel_builder is not PLAINTEXT_CHANNELS
            self.sensors.connected(channel.node_id, now_ms, authenticated=authenticated)
        self._newly_connected.append(channel.node_id)
        self._on_event()

    def channel_reauthenticated(self, channel: KafkaChannel, took_ms: int) -> None:
        """Count it: a re-authentication is no event for the owner."""
        now_ms = self._touch(channel.node_id)
        if self.sensors is not None:
            self.sensors.reauthenticated(took_ms, now_ms)

    def channel_active(self, channel: KafkaChannel) -> None:
        """Stage: received."""
        self._touch(channel.node_id)
        self._with_staged[channel.node_id] = None
        self._on_event()

    def channel_written(self, channel: KafkaChannel) -> None:
        """Stage: sent."""
        self._touch(channel.node_id)
        self._written.append(channel.node_id)
        if self.on_written is not None:
            self.on_written(channel.node_id)
        if channel.node_id in self._write_awaited:
            self._on_event()

    def channel_lost(self, channel: KafkaChannel, reason: str) -> None:
        """Stage: disconnected. What was received before stays readable in the same poll."""
        ended = Disconnection(node_id=channel.node_id, state=channel.state, reason=reason, failure=channel.failure)
        if self.sensors is not None and channel.failure is not None:
            is_again = channel.authentication is not None and channel.authentication.is_again
            self.sensors.refused(self._now_ms(), again=is_again)
        if channel.staged:
            # The responses that came before the end count: they are returned first, one per poll.
            channel.state = ChannelState.LOCAL_CLOSE
            self._ending[channel.node_id] = ended
            return
        self._forget(channel.node_id)
        self._report(ended)

    # Details

    def _has_read(self, requested_ms: int) -> None:
        self._is_reading = False
        self._read_ms = requested_ms
        self._on_event()

    def _report(self, disconnection: Disconnection) -> None:
        self._newly_disconnected.append(disconnection)
        self._on_event()

    def _touch(self, node_id: int) -> int:
        active = self._last_active_ms
        active.pop(node_id, None)
        now_ms = active[node_id] = self._now_ms()
        return now_ms

    def _now_ms(self) -> int:
        return int(self._reactor.seconds() * 1000)

    def _close_one_idle(self, now_ms: int) -> None:
        if self._max_idle_ms < 0 or not self._last_active_ms:
            return
        node_id, active_ms = next(iter(self._last_active_ms.items()))
        if now_ms - active_ms < self._max_idle_ms or node_id in self._with_staged:
            return
        self._drop(node_id, flush=True)
        reason = f"idle for connections.max.idle.ms={self._max_idle_ms}"
        self._newly_disconnected.append(Disconnection(node_id=node_id, state=ChannelState.EXPIRED, reason=reason))

    def _drop(self, node_id: int, *, flush: bool) -> None:
        channel = self._channels.get(node_id)
        if channel is None:
            return
        self._forget(node_id)
        self._ending.pop(node_id, None)
        self._written = [written for written in self._written if written != node_id]
        try:
            channel.close(flush=flush)
        except ConnectionClosed:
            return

    def _forget(self, node_id: int) -> None:
        if self._channels.pop(node_id, None) is not None:
            self.connections_closed += 1
            if self.sensors is not None:
                self.sensors.closed(self._now_ms())
        self._last_active_ms.pop(node_id, None)
        self._write_awaited.pop(node_id, None)
        self._with_staged.pop(node_id, None)
        self._newly_connected = [connected for connected in self._newly_connected if connected != node_id]
