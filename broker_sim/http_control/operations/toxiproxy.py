"""Toxiproxy's HTTP interface (version 2) as another form of the faults of connections, for its existing clients.

Each broker is a proxy: `broker-1` is broker 1 of the cluster `default`, `NAME.broker-1` that of another one. It listens
on the broker's own address, because clients of Kafka connect to the addresses that brokers advertise. A toxic becomes a
rule with the action `toxic`, which `GET .../rules` shows.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from broker_sim.errors import BrokerSimError, nearest
from broker_sim.faults.grammar import parse_rule
from broker_sim.http_control.clusters import DEFAULT_NAME
from broker_sim.http_control.operation import Operation, UnknownName
from broker_sim.http_control.problems import HttpError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from broker_sim.http_control.clusters import Clusters, HostedCluster
    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]

VERSION: Final = "2.12.0"
"""The version of Toxiproxy whose interface this is: clients require 2.0 or later."""
PROXY: Final = "/proxies/{proxy}"
TOXIC: Final = f"{PROXY}/toxics/{{toxic}}"
DOWN: Final = "down"
ANY_PORT: Final = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Toxic:
    """A toxic of a proxy; `attributes` are those of its type."""

    type: str
    name: str = ""
    stream: str = "downstream"
    toxicity: float = 1.0
    attributes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToxicChange:
    """The new values of a toxic."""

    toxicity: float | None = None
    attributes: dict[str, int] = field(default_factory=dict)
    name: str | None = None
    type: str | None = None
    stream: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewProxy:
    """A name for the broker whose address is `upstream`."""

    name: str
    upstream: str
    listen: str = "127.0.0.1:0"
    enabled: bool = True
    toxics: list[Toxic] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyChange:
    """The new state of a proxy; one that is not enabled refuses connections. Its toxics stay as they are."""

    enabled: bool | None = None
    name: str | None = None
    listen: str | None = None
    upstream: str | None = None
    toxics: list[Toxic] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A broker as a proxy."""

    name: str
    listen: str
    upstream: str
    enabled: bool
    toxics: list[Toxic]


@dataclass(frozen=True, slots=True)
class Populated:
    """The proxies of a `populate`."""

    proxies: list[Proxy]


@dataclass(frozen=True, slots=True)
class Version:
    """The version of Toxiproxy's interface."""

    version: str


class Poisoned:
    """One broker as a proxy: the rules that its toxics are."""

    def __init__(self, hosted: HostedCluster, broker: int) -> None:
        self._hosted = hosted
        self.broker = broker

    @property
    def default_name(self) -> str:
        """The name of a broker that no client has named."""
        prefix = "" if self._hosted.name == DEFAULT_NAME else f"{self._hosted.name}."
        return f"{prefix}broker-{self.broker}"

    @property
    def name(self) -> str:
        """The name that a client has given to the broker, or its own."""
        return self._hosted.proxy_names.get(self.broker, self.default_name)

    @name.setter
    def name(self, name: str) -> None:
        self._hosted.proxy_names[self.broker] = name

    @property
    def address(self) -> str:
        """The address of the broker."""
        found = self._hosted.cluster.brokers[self.broker]
        return f"{found.host}:{found.port}"

    def shown(self) -> Proxy:
        """Return the proxy as Toxiproxy shows it."""
        toxics = self.toxics()
        enabled = DOWN not in toxics
        shown = [toxic for name, toxic in toxics.items() if name != DOWN]
        return Proxy(name=self.name, listen=self.address, upstream=self.address, enabled=enabled, toxics=shown)

    def toxics(self) -> dict[str, Toxic]:
        """Return the toxics whose rules are there, by name."""
        known = {report.name for report in self._hosted.cluster.faults.reports()}
        own = self._hosted.toxics.get(self.broker, {})
        return {name: toxic for name, toxic in own.items() if self._rule(name) in known}

    def named(self, name: str) -> Toxic:
        """Return one toxic. Raises UnknownName."""
        toxics = self.toxics()
        if name not in toxics:
            raise UnknownName(f"proxy {self.name!r} has no toxic {name!r}{nearest(name, toxics)}")
        return toxics[name]

    def add(self, toxic: Toxic) -> Toxic:
        """Add a toxic. Raises HttpError with status 409 if its name is taken, and RuleError."""
        name = toxic.name or f"{toxic.type}_{toxic.stream}"
        if name in self.toxics():
            raise HttpError(HTTPStatus.CONFLICT, f"proxy {self.name!r} has a toxic {name!r} already")
        act: dict[str, Any] = {"type": toxic.type, "to": self.broker}
        if toxic.type != DOWN:
            act |= {"stream": toxic.stream, "toxicity": toxic.toxicity, "attributes": toxic.attributes}
        # A toxic that poisons no connection is no mistake of a test of Toxiproxy's.
        rule = {"name": self._rule(name), "act": {"toxic": act}, "optional": True}
        self._hosted.cluster.faults.add(parse_rule(rule, default_name=name))
        added = Toxic(
            type=toxic.type, name=name, stream=toxic.stream, toxicity=toxic.toxicity, attributes=toxic.attributes
        )
        self._hosted.toxics.setdefault(self.broker, {})[name] = added
        return added

    def remove(self, name: str) -> None:
        """Remove a toxic. Raises UnknownName."""
        self.named(name)
        self._hosted.cluster.faults.remove(self._rule(name))
        del self._hosted.toxics[self.broker][name]

    def set_enabled(self, enabled: bool) -> None:  # noqa: FBT001 - a state
        """Refuse connections and close those that are open, or end this."""
        if enabled and DOWN in self.toxics():
            self.remove(DOWN)
        elif not enabled and DOWN not in self.toxics():
            self.add(Toxic(type=DOWN, name=DOWN))

    def _rule(self, toxic: str) -> str:
        return f"toxiproxy {self.broker} {toxic}"


def _all(clusters: Clusters) -> Iterator[Poisoned]:
    for hosted in clusters:
        for broker in hosted.cluster.broker_ids:
            yield Poisoned(hosted, broker)


def _proxy(call: Call) -> Poisoned:
    name = call.path["proxy"]
    found = {each.name: each for each in _all(call.clusters)}
    if name not in found:
        raise UnknownName(f"there is no proxy {name!r}{nearest(name, found)}")
    return found[name]


def listed(call: Call) -> dict[str, Proxy]:
    """Return all proxies by name."""
    return {each.name: each.shown() for each in _all(call.clusters)}


def created(call: Call) -> Proxy:
    """Name a broker."""
    return _named(call, call.body)


def _named(call: Call, wanted: NewProxy) -> Proxy:
    proxies = list(_all(call.clusters))
    found = next((each for each in proxies if each.address == wanted.upstream), None)
    if found is None:
        addresses = ", ".join(each.address for each in proxies) or "none"
        raise BrokerSimError(f"upstream: {wanted.upstream!r} is the address of no broker: they are {addresses}")
    if wanted.listen.rpartition(":")[2] != ANY_PORT and wanted.listen != found.address:
        problem = f"listen: {wanted.listen!r} is not the broker's own address {found.address!r}, nor has it port 0"
        raise BrokerSimError(problem)
    if any(each.name == wanted.name and each.broker != found.broker for each in proxies):
        raise HttpError(HTTPStatus.CONFLICT, f"name: {wanted.name!r} is the name of another proxy")
    found.name = wanted.name
    found.set_enabled(wanted.enabled)
    for toxic in wanted.toxics or ():
        found.add(toxic)
    return found.shown()


def populated(call: Call) -> Populated:
    """Name several brokers."""
    return Populated([_named(call, each) for each in call.body])


def described(call: Call) -> Proxy:
    """Return one proxy."""
    return _proxy(call).shown()


def changed(call: Call) -> Proxy:
    """Enable or disable a proxy."""
    proxy = _proxy(call)
    if call.body.enabled is not None:
        proxy.set_enabled(call.body.enabled)
    return proxy.shown()


def deleted(call: Call) -> None:
    """End the toxics of a proxy; the broker keeps its own name."""
    proxy = _proxy(call)
    for name in proxy.toxics():
        proxy.remove(name)
    proxy.name = proxy.default_name


def listed_toxics(call: Call) -> list[Toxic]:
    """Return the toxics of a proxy."""
    return _proxy(call).shown().toxics


def described_toxic(call: Call) -> Toxic:
    """Return one toxic."""
    return _proxy(call).named(call.path["toxic"])


def added_toxic(call: Call) -> Toxic:
    """Add a toxic."""
    return _proxy(call).add(call.body)


def changed_toxic(call: Call) -> Toxic:
    """Replace attributes of a toxic."""
    proxy, change = _proxy(call), call.body
    old = proxy.named(call.path["toxic"])
    new = Toxic(
        type=old.type,
        name=old.name,
        stream=old.stream,
        toxicity=old.toxicity if change.toxicity is None else change.toxicity,
        attributes={**old.attributes, **change.attributes},
    )
    proxy.remove(old.name)
    try:
        return proxy.add(new)
    except BrokerSimError:
        proxy.add(old)
        raise


def removed_toxic(call: Call) -> None:
    """Remove a toxic."""
    _proxy(call).remove(call.path["toxic"])


def reset(call: Call) -> None:
    """End all toxics and enable all proxies."""
    for proxy in _all(call.clusters):
        for name in proxy.toxics():
            proxy.remove(name)


def version(call: Call) -> Version:  # noqa: ARG001 - as every handler
    """Return the version."""
    return Version(VERSION)


OPERATIONS = (
    Operation(
        method="GET",
        path="/version",
        name="toxiproxyVersion",
        summary="The version of Toxiproxy's interface.",
        handle=version,
        result=Version,
    ),
    Operation(
        method="POST",
        path="/reset",
        name="toxiproxyReset",
        summary="End all toxics and enable all proxies.",
        handle=reset,
        status=204,
    ),
    Operation(
        method="GET",
        path="/proxies",
        name="listProxies",
        summary="Every broker as a proxy, by name.",
        handle=listed,
        result=dict[str, Proxy],
    ),
    Operation(
        method="POST",
        path="/proxies",
        name="createProxy",
        summary="Give a broker, the one with the address `upstream`, a name of the caller's.",
        handle=created,
        body=NewProxy,
        result=Proxy,
        status=201,
    ),
    Operation(
        method="POST",
        path="/populate",
        name="populateProxies",
        summary="Give several brokers names.",
        handle=populated,
        body=list[NewProxy],
        result=Populated,
        status=201,
    ),
    Operation(method="GET", path=PROXY, name="getProxy", summary="One proxy.", handle=described, result=Proxy),
    *(
        Operation(
            method=method,
            path=PROXY,
            name=name,
            summary="Enable a proxy, or disable it: it refuses connections and closes those that are open.",
            handle=changed,
            body=ProxyChange,
            result=Proxy,
        )
        for method, name in (("POST", "updateProxy"), ("PATCH", "patchProxy"))
    ),
    Operation(
        method="DELETE",
        path=PROXY,
        name="deleteProxy",
        summary="End the toxics of a proxy.",
        handle=deleted,
        status=204,
    ),
    Operation(
        method="GET",
        path=f"{PROXY}/toxics",
        name="listToxics",
        summary="The toxics of a proxy.",
        handle=listed_toxics,
        result=list[Toxic],
    ),
    Operation(
        method="POST",
        path=f"{PROXY}/toxics",
        name="addToxic",
        summary="Add a toxic to the connections of clients with a broker.",
        handle=added_toxic,
        body=Toxic,
        result=Toxic,
    ),
    Operation(method="GET", path=TOXIC, name="getToxic", summary="One toxic.", handle=described_toxic, result=Toxic),
    *(
        Operation(
            method=method,
            path=TOXIC,
            name=name,
            summary="Replace attributes or the toxicity of a toxic.",
            handle=changed_toxic,
            body=ToxicChange,
            result=Toxic,
        )
        for method, name in (("POST", "updateToxic"), ("PATCH", "patchToxic"))
    ),
    Operation(
        method="DELETE",
        path=TOXIC,
        name="removeToxic",
        summary="Remove a toxic.",
        handle=removed_toxic,
        status=204,
    ),
)
