"""A cluster of the ZooKeeper era, wired: the ensemble at its node, and what makes brokers for it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from broker_sim.controller.config_control import ConfigControl
from broker_sim.quotas.client_quota_control import ClientQuotaControl
from broker_sim.zookeeper.broker import ZooKeeperBroker
from broker_sim.zookeeper.ensemble import ZooKeeper
from broker_sim.zookeeper.messages import ZOOKEEPER_ID

if TYPE_CHECKING:
    from broker_sim.config.broker_config import BrokerConfig
    from broker_sim.control.journal import Journal
    from broker_sim.replication.broker_links import BrokerLinks
    from sim_runtime.interfaces import IReactor


def set_up_zookeeper(
    *, reactor: IReactor, links: BrokerLinks, journal: Journal, config: BrokerConfig, cluster_id: str
) -> ZooKeeper:
    """The ensemble, attached to its links, ready to change configurations and quotas and to make brokers."""
    ensemble = ZooKeeper(reactor=reactor, links=links, journal=journal, config=config, cluster_id=cluster_id)
    ConfigControl(ensemble)
    ClientQuotaControl(ensemble)
    links.attach(ZOOKEEPER_ID, ensemble)
    ensemble.make_broker = partial(ZooKeeperBroker, ensemble=ensemble)
    return ensemble
