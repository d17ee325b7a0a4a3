"""The simulated network: named hosts, and two one-way links between each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sim_runtime.link import Link
from sim_runtime.virtual_flow import Flow
from sim_runtime.virtual_host import HostReactor
from sim_runtime.virtual_transport import VirtualTransport

if TYPE_CHECKING:
    from twisted.internet.address import IPv4Address

    from sim_runtime.random_streams import RandomStreams
    from sim_runtime.virtual_reactor import VirtualReactor

__all__ = ["VirtualNetwork"]

LATENCY_MS: Final = 0.1
LOOPBACK_LATENCY_MS: Final = 0.02
SEGMENT_BYTES: Final = 16 * 1024
WINDOW_BYTES: Final = 512 * 1024
GIVE_UP_MS: Final = 924_600.0  # Linux's tcp_retries2
HOSTS_MAX: Final = 65_000


class VirtualNetwork:
    """Hosts and links, made on first use.

    New links get this network's `latency_ms`, `jitter_ms`, `bandwidth_bytes_per_s`, `loss` and `segment_bytes`.
    `window_bytes` is the size of the socket buffers of both ends; `give_up_ms` is the time that TCP retransmits.
    `checksum` covers every segment that arrived, with its time and bytes: two runs of one seed share it.
    """

    def __init__(self, reactor: VirtualReactor, streams: RandomStreams) -> None:
        self.reactor = reactor
        self.latency_ms: float = LATENCY_MS
        self.jitter_ms: float = 0.0
        self.bandwidth_bytes_per_s: int | None = None
        self.loss: float = 0.0
        self.segment_bytes = SEGMENT_BYTES
        self.window_bytes = WINDOW_BYTES
        self.give_up_ms = GIVE_UP_MS
        self.checksum = 0
        self._streams = streams
        self._hosts: dict[str, HostReactor] = {}
        self._hosts_by_ip: dict[str, HostReactor] = {}
        self._isolated: dict[str, None] = {}
        self._links: dict[tuple[str, str], Link] = {}
        self._flows = 0
        reactor.attach_tcp(self.host("localhost"))

    def host(self, name: str) -> HostReactor:
        """The host `name`; a new one gets the next ip of 10.0.0.0/8."""
        found = self._hosts.get(name)
        if found is None:
            number = len(self._hosts)
            if number > HOSTS_MAX:
                raise ValueError(f"no more than {HOSTS_MAX} hosts; {name!r} is one too many")
            ip = f"10.{number // 62_500}.{number // 250 % 250}.{number % 250 + 1}"
            found = self._hosts[name] = self._hosts_by_ip[ip] = HostReactor(self, name, ip)
        return found

    def find_host(self, name: str) -> HostReactor | None:
        """The host whose name or ip this is."""
        return self._hosts.get(name) or self._hosts_by_ip.get(name)

    def link(self, source: str, target: str) -> Link:
        """The link from one host to another; the opposite one is `link(target, source)`."""
        found = self._links.get((source, target))
        if found is None:
            self.host(source)
            self.host(target)
            found = self._links[source, target] = Link(
                source,
                target,
                random=self._streams.stream(f"network/{source}->{target}"),
                latency_ms=LOOPBACK_LATENCY_MS if source == target else self.latency_ms,
                jitter_ms=self.jitter_ms,
                bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
                loss=self.loss,
                segment_bytes=self.segment_bytes,
            )
            self._isolate_link(found)
        return found

    def links(self) -> list[Link]:
        """All links that exist, in the order of creation."""
        return list(self._links.values())

    def isolate(self, host: str) -> None:
        """Cut the host off from all others, both ways; it still reaches itself."""
        self._isolated[host] = None
        self._apply_isolation()

    def rejoin(self, host: str) -> None:
        """End `isolate(host)`; links that were cut by themselves stay cut."""
        self._isolated.pop(host, None)
        self._apply_isolation()

    def next_flow_number(self) -> int:
        """A number for one direction of a connection."""
        self._flows += 1
        return self._flows

    def make_connection(
        self, source: HostReactor, here: IPv4Address, target: HostReactor, there: IPv4Address
    ) -> VirtualTransport:
        """The client's end of a connection whose handshake has not begun."""
        client = VirtualTransport(source, here, there, self.window_bytes)
        server = VirtualTransport(target, there, here, self.window_bytes)
        client.other, server.other = server, client
        client.flow = self._make_flow(self.link(source.name, target.name), client, server)
        server.flow = self._make_flow(self.link(target.name, source.name), server, client)
        return client

    def _make_flow(self, link: Link, sender: VirtualTransport, receiver: VirtualTransport) -> Flow:
        return Flow(self, link, sender, receiver)

    def _apply_isolation(self) -> None:
        for link in self.links():
            self._isolate_link(link)

    def _isolate_link(self, link: Link) -> None:
        apart = link.source != link.target
        link.isolate(isolated=apart and (link.source in self._isolated or link.target in self._isolated))
