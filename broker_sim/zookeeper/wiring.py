"""Wires a cluster in ZooKeeper mode: the ensemble at its node, and the factory of its brokers."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from broker_sim.apis.api_handler import ApiHandler
from broker_sim.apis.node_apis import NodeApis
from broker_sim.controller.client_quota_control import ClientQuotaControl
from broker_sim.controller.config_control import ConfigControl
from broker_sim.quotas.quota_managers import QuotaManagers
from broker_sim.rpc.link_transport import LinkTransport
from broker_sim.rpc.rpc_server import RpcServer
from broker_sim.zookeeper.broker import ZooKeeperBroker
from broker_sim.zookeeper.ensemble import ZooKeeper
from broker_sim.zookeeper.messages import ZOOKEEPER_ID
from broker_sim.zookeeper.token_control import ZooKeeperTokens

if TYPE_CHECKING:
    from random import Random

    from broker_sim.apis.broker_view import BrokerView
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.faults.interception import Faults
    from broker_sim.links.node_links import NodeLinks
    from sim_runtime.interfaces import IReactor


def set_up_zookeeper(
    *,
    reactor: IReactor,
    links: NodeLinks,
    journal: Journal,
    config: BrokerConfig,
    cluster_id: str,
    faults: Faults,
    random: Random,
) -> ZooKeeper:
    """The ensemble, attached to its links, ready to change configurations, quotas and tokens and to make brokers."""
    ensemble = ZooKeeper(reactor=reactor, links=links, journal=journal, config=config, cluster_id=cluster_id)
    ensemble.configs = ConfigControl(ensemble)
    ensemble.client_quotas = ClientQuotaControl(ensemble)
    ensemble.tokens = ZooKeeperTokens(ensemble, config=config, random=random)
    links.attach(ZOOKEEPER_ID, _link_transport(ensemble, journal=journal, config=config, faults=faults))
    ensemble.make_broker = partial(ZooKeeperBroker, ensemble=ensemble)
    return ensemble


def _link_transport(ensemble: ZooKeeper, *, journal: Journal, config: BrokerConfig, faults: Faults) -> LinkTransport:
    """Return the transport that serves the ensemble's links: one handler for all requests."""
    handler = ApiHandler(handle=lambda request, context: ensemble.serve(request, context.replica_id))
    table: Any = SimpleNamespace(loaded={}, handler_of=lambda _: handler)
    rpc = RpcServer(
        node_id=ZOOKEEPER_ID,
        apis=NodeApis(handlers=table, advertised={}, features={}),
        journal=journal,
        faults=faults,
        quotas=QuotaManagers(config, journal.now_us),
    )
    return LinkTransport(cast("BrokerView", ensemble), rpc, journal=journal, peer_reset=ensemble.peer_reset)
