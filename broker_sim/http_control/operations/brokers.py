"""Calls on brokers and controllers: kill, stop, restart, isolate, clocks and configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_sim.cluster_input import config_changes
from broker_sim.cluster_state import BrokerStatus, ConnectionStatus, broker_status, connections
from broker_sim.errors import BrokerSimError
from broker_sim.http_control.operation import CLUSTER, Operation, UnknownName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from twisted.internet.defer import Deferred

    from broker_sim.cluster import Cluster
    from broker_sim.http_control.operation import Call

__all__ = ["OPERATIONS"]

BROKER: Final = f"{CLUSTER}/brokers/{{broker}}"
CONTROLLER: Final = f"{CLUSTER}/controllers/{{controller}}"


def listed(call: Call) -> list[BrokerStatus]:
    """Return all brokers."""
    return broker_status(call.cluster)


def described(call: Call) -> BrokerStatus:
    """Return one broker."""
    broker = broker_of(call)
    return next(each for each in broker_status(call.cluster) if each.id == broker)


def broker_of(call: Call, name: str = "broker") -> int:
    """Return the id of the broker in the path. Raises UnknownName."""
    broker = call.number(name)
    if broker not in call.cluster.broker_ids:
        raise UnknownName(f"there is no broker {broker}: they are {call.cluster.broker_ids}")
    return broker


VERBS: Final[Mapping[str, tuple[str, Callable[[Cluster, int], Any]]]] = {
    "kill": (
        "Kill a broker as SIGKILL does: connections are reset, its log stays. A dead broker stays dead.",
        lambda cluster, broker: cluster.kill(broker),
    ),
    "stop": (
        "Shut a broker down in order: its leaderships move first. Responds when it is down.",
        lambda cluster, broker: cluster.stop(broker),
    ),
    "pause": (
        "Let a broker stand still, as SIGSTOP does: its sockets accept bytes, and nothing responds.",
        lambda cluster, broker: cluster.admin.pause(broker),
    ),
    "resume": ("Let a paused broker go on.", lambda cluster, broker: cluster.admin.resume(broker)),
    "restart": (
        "Start a broker on its old port with its old log, after a kill if it runs. Responds when it is unfenced.",
        lambda cluster, broker: cluster.restart(broker),
    ),
    "isolate": (
        "Cut a broker off from all other nodes; clients still reach it.",
        lambda cluster, broker: cluster.isolate(broker),
    ),
    "rejoin": ("Restore the links of an isolated broker.", lambda cluster, broker: cluster.rejoin(broker)),
}


def _verb(name: str) -> Operation:
    summary, act = VERBS[name]

    def handle(call: Call) -> Any:
        broker = broker_of(call)
        result: Deferred[None] | None = act(call.cluster, broker)
        return result if result is None else result.addCallback(lambda _: None)

    return Operation(
        method="POST",
        path=f"{BROKER}/{name}",
        name=f"{name}Broker",
        summary=summary,
        handle=handle,
        status=204,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChange:
    """A change of a broker's wall clock: a jump in milliseconds, a drift in microseconds per second."""

    jump_ms: float | None = None
    drift_ppm: float | None = None


def clock(call: Call) -> None:
    """Change the wall clock of a broker. Raises BrokerSimError for a body without a change."""
    broker = broker_of(call)
    admin = call.cluster.admin
    if call.body.jump_ms is None and call.body.drift_ppm is None:
        raise BrokerSimError("the body has no change of the clock: expected jump_ms, drift_ppm or both")
    if call.body.jump_ms is not None:
        admin.jump_clock(broker, call.body.jump_ms)
    if call.body.drift_ppm is not None:
        admin.drift_clock(broker, call.body.drift_ppm)


def changed_configs(call: Call) -> Deferred[None]:
    """Set or delete configurations of a broker."""
    return call.cluster.admin.alter_config("broker", str(broker_of(call)), config_changes(call.body))


def changed_configs_of_all(call: Call) -> Deferred[None]:
    """Set or delete the configurations that all brokers have without one of their own."""
    return call.cluster.admin.alter_config("broker", "", config_changes(call.body))


def controller_of(call: Call) -> int | None:
    """Return the node id in the path, None for `active`. Raises UnknownName."""
    if call.path["controller"] == "active":
        return None
    node = call.number("controller")
    if node not in call.cluster.controller_ids:
        raise UnknownName(f"there is no controller {node} that can fail: they are {call.cluster.controller_ids}")
    return node


@dataclass(frozen=True, slots=True)
class KilledController:
    """The node id of the controller that was killed."""

    controller: int


def kill_controller(call: Call) -> KilledController:
    """Kill a controller."""
    return KilledController(call.cluster.kill_controller(controller_of(call)))


def restart_controller(call: Call) -> None:
    """Start a controller again."""
    node = controller_of(call)
    if node is None:
        raise UnknownName("controller 'active': a restart needs the node id of a controller")
    call.cluster.restart_controller(node)


def listed_connections(call: Call) -> list[ConnectionStatus]:
    """Return the open connections of clients."""
    return connections(call.cluster)


OPERATIONS = (
    Operation(
        method="GET",
        path=f"{CLUSTER}/brokers",
        name="listBrokers",
        summary="All brokers, those that are down too.",
        handle=listed,
        result=list[BrokerStatus],
    ),
    Operation(
        method="GET", path=BROKER, name="getBroker", summary="One broker.", handle=described, result=BrokerStatus
    ),
    *map(_verb, VERBS),
    Operation(
        method="POST",
        path=f"{BROKER}/clock",
        name="changeClock",
        summary="Move the wall clock of a broker ahead or back, or let it drift.",
        handle=clock,
        body=ClockChange,
        status=204,
    ),
    Operation(
        method="PATCH",
        path=f"{BROKER}/configs",
        name="alterBrokerConfigs",
        summary="Set dynamic configurations of a broker; null deletes one.",
        handle=changed_configs,
        body=dict[str, str | int | float | bool | None],
        status=204,
    ),
    Operation(
        method="PATCH",
        path=f"{CLUSTER}/configs",
        name="alterClusterConfigs",
        summary="Set dynamic configurations of all brokers that have none of their own; null deletes one.",
        handle=changed_configs_of_all,
        body=dict[str, str | int | float | bool | None],
        status=204,
    ),
    Operation(
        method="POST",
        path=f"{CONTROLLER}/kill",
        name="killController",
        summary="Kill a controller by its node id, or the `active` one; the cluster needs several.",
        handle=kill_controller,
        result=KilledController,
    ),
    Operation(
        method="POST",
        path=f"{CONTROLLER}/restart",
        name="restartController",
        summary="Start a controller with its log and its votes.",
        handle=restart_controller,
        status=204,
    ),
    Operation(
        method="GET",
        path=f"{CLUSTER}/connections",
        name="listConnections",
        summary="The open connections of clients.",
        handle=listed_connections,
        result=list[ConnectionStatus],
    ),
)
