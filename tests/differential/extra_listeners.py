"""Further listeners of the brokers of a case: `EXTRA_LISTENERS` among its settings, `NAME[@BROKER][-][=PROTOCOL],...`.

`@BROKER` gives a listener to one broker alone, `-` keeps it from being advertised, the security protocol is PLAINTEXT
unless it is given. A listener is bound on 127.0.0.1 and advertised as `<name>.example.com` with the bound port.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from broker_sim.threaded_cluster import ThreadedCluster

EXTRA_LISTENERS = "+listeners"
_SPEC = re.compile(r"([A-Z]+)(?:@(\d+))?(-?)(?:=([A-Z_]+))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtraListener:
    """One of them; `broker` is 0 for all brokers."""

    name: str
    broker: int
    advertised: bool
    security_protocol: str = "PLAINTEXT"


def extra_listeners(settings: Mapping[str, str]) -> list[ExtraListener]:
    """Return the listeners that settings request."""
    found = []
    for text in filter(None, settings.get(EXTRA_LISTENERS, "").split(",")):
        spec = _SPEC.fullmatch(text)
        assert spec is not None, text
        protocol = spec[4] or "PLAINTEXT"
        found.append(
            ExtraListener(name=spec[1], broker=int(spec[2] or 0), advertised=not spec[3], security_protocol=protocol)
        )
    return found


def with_listeners(
    settings: Mapping[str, str],
    brokers: int,
    *,
    main: Callable[[int], str],
    port: Callable[[int, str], int],
    also: Callable[[int], str] = lambda _: "",
) -> dict[str, str]:
    """Return the settings with the listeners of each broker's file.

    `main` is a broker's PLAINTEXT endpoint, `port` where it binds a further listener, `also` what else it listens on.
    """
    wanted = extra_listeners(settings)
    made = {name: value for name, value in settings.items() if name != EXTRA_LISTENERS}
    if not wanted:
        return made
    for broker in range(1, brokers + 1):
        bound, public = [main(broker)], [main(broker)]
        for each in wanted:
            if each.broker in {0, broker}:
                number = port(broker, each.name)
                bound.append(f"{each.name}://127.0.0.1:{number}")
                if each.advertised:
                    public.append(f"{each.name}://{each.name.lower()}.example.com:{number}")
        made[f"{broker}:listeners"] = ",".join(filter(None, [*bound, also(broker)]))
        made[f"{broker}:advertised.listeners"] = ",".join(public)
    mapped = ",".join(f"{each.name}:{each.security_protocol}" for each in wanted)
    made["listener.security.protocol.map"] = f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{mapped}"
    return made


def ours(settings: Mapping[str, str], brokers: int) -> dict[str, str]:
    """Settings of our cluster: every port is the system's choice."""
    return with_listeners(settings, brokers, main=lambda _: "PLAINTEXT://127.0.0.1:0", port=lambda _broker, _name: 0)


def probe_servers(bootstrap_servers: str, bound: Mapping[tuple[int, str], int]) -> str:
    """The arguments of a Probe: the bootstrap servers, then where each broker has bound each further listener."""
    return ";".join([bootstrap_servers, *(f"{broker}@{name}={port}" for (broker, name), port in bound.items())])


def bound_by(cluster: ThreadedCluster) -> dict[tuple[int, str], int]:
    """Where our brokers and controllers have bound their further listeners."""
    controllers = cluster.cluster.controller_endpoints.items()
    return {
        (broker.id, listener.name): listener.port
        for broker in cluster.cluster.brokers.values()
        for listener in broker.listeners.all
        if listener.name != broker.listeners.inter_broker
    } | {(node_id, "CONTROLLER"): port for node_id, (_, port) in controllers}
